// Packing in process: lengths in, packs out.
//
// A Packer takes the lengths of one stream in pieces of any size and appends
// each pack as soon as the rule has decided it. It does no I/O, reads no
// clock, starts no thread and holds O(window) memory, and where policies cut or
// drop, up to 32 bytes for each such sequence since the oldest pending one.
//
//   PackSpec spec;
//   spec.capacity_tokens = 512;
//   absl::StatusOr<Packer> packer = Packer::Create(spec);
//   Packs packs;
//   packer->Add({200, 512, 312}, &packs);  // a window is 1024 sequences,
//   packer->Finish(&packs);                // so all comes with the end
//   // packs: {1}, {0, 2}
//
// Thread-compatible: calls on one Packer must not overlap.

#ifndef PACKHOUSE_PACKER_H_
#define PACKHOUSE_PACKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"

namespace packhouse {

class Intake;  // packing/intake.h
class Rule;    // packing/rule.h

class Packer {
 public:
  // INVALID_ARGUMENT as ValidateSpec says, and for a rule that is not online.
  static absl::StatusOr<Packer> Create(const PackSpec& spec);

  // A packer that goes on where the one with this state was: what it appends
  // from here on is what the other would have. INVALID_ARGUMENT where `state`
  // is damaged, of another spec or of a version that this build does not know.
  //
  // `state` may come from anyone. The checksum finds damage; one who forges it
  // gets a refusal or a packer that keeps every promise made here, with
  // sequences that were never given. Memory is O(window) and O(state) at most.
  static absl::StatusOr<Packer> Restore(const PackSpec& spec,
                                        absl::string_view state);

  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;
  ~Packer();

  // Gives the next sequences of the stream; they get the ordinals from
  // sequences() on. Packs that are now decided are appended to *packs.
  // INVALID_ARGUMENT as CheckLengths says, FAILED_PRECONDITION after Finish;
  // on error nothing has changed: all of `lengths` is taken or none.
  absl::Status Add(absl::Span<const uint32_t> lengths, Packs* packs);

  // Closes the window early: every pending sequence is in a pack afterwards.
  // With nothing pending it does nothing. FAILED_PRECONDITION after Finish.
  absl::Status Flush(Packs* packs);

  // Ends the stream: like Flush, and nothing more may be added.
  absl::Status Finish(Packs* packs);

  const PackSpec& spec() const { return spec_; }

  // All that later packs depend on: a version, the spec it is of, what is
  // pending and what the rule has learnt, and a checksum. About 2 to 6 bytes
  // for each pending unit, and up to 700 beside them; never over MaxStateBytes.
  // Packers that would go on alike have the same state.
  std::string Save() const;

  // Sequences taken so far, dropped ones too: the ordinal of the next.
  uint64_t sequences() const;

  // Units (packhouse/policy.h) taken that are not in a pack yet; at most the
  // window.
  uint64_t pending_units() const;

  // The ordinal of the oldest of them; sequences() where there is none. No
  // later pack holds a sequence before it.
  uint64_t oldest_pending_ordinal() const;

 private:
  Packer(const PackSpec& spec, std::unique_ptr<Rule> rule);

  // Turns what the rule has appended from entry `first` on into ordinals.
  void Release(size_t first, Packs* packs);

  PackSpec spec_;
  std::unique_ptr<Intake> intake_;
  std::unique_ptr<Rule> rule_;
  bool finished_ = false;
};

// Save never gives more bytes than this, and Restore refuses more unread: 22
// for each unit of the window, where ordinals lie far apart, and 1100 beside
// them at most. Requires a valid spec with a rule that Packer::Create takes.
uint64_t MaxStateBytes(const PackSpec& spec);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKER_H_
