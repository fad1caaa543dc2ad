// Which units a stream may bring, each once.
//
// The client's record of what it gave: packs that come from a server are held
// against it. Sequences that are packed whole cost a bit each from the oldest
// one that is missing on; one that was cut or split costs some 100 bytes until
// it is complete.
//
// Thread-compatible.

#ifndef PACKHOUSE_SESSION_UNIT_LEDGER_H_
#define PACKHOUSE_SESSION_UNIT_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "packhouse/spec.h"
#include "packing/state.h"
#include "session/ordinal_set.h"

namespace packhouse {

class UnitLedger {
 public:
  // Requires a valid spec.
  explicit UnitLedger(const PackSpec& spec) : spec_(spec) {}

  // The next sequences of the stream; CheckLengths must accept them.
  void Give(absl::Span<const uint32_t> lengths);

  // Ticks a unit off. Empty if it was due; otherwise what is wrong with it, to
  // be read behind its ordinal. The ordinal must have been given.
  std::string Receive(uint64_t ordinal, uint32_t source_offset) {
    const bool is_whole = parts_.empty() && source_offset == 0;
    if (is_whole && complete_.Insert(ordinal)) return "";
    return is_whole ? kNotDue : ReceivePart(ordinal, source_offset);
  }

  // The lowest ordinal of which a unit is missing; sequences() where none is.
  uint64_t first_incomplete() const;

  // True where no unit of the sequence is missing: it came whole, or is in no
  // pack.
  bool IsComplete(uint64_t ordinal) const {
    return complete_.Contains(ordinal);
  }

  void Save(StateWriter* writer) const;
  // The reader fails where the state is not one that Save can have written.
  void Restore(StateReader* reader);

  // Gives back memory. Call it after a number of Receives.
  void Trim() { complete_.Trim(); }

  uint64_t sequences() const { return sequences_; }  // given
  uint64_t units() const { return units_; }          // of them

 private:
  // A sequence that is not packed whole.
  struct Parts {
    uint32_t length;
    uint32_t missing;
    std::vector<bool> received;  // by unit
  };

  static constexpr char kNotDue[] =
      "which an earlier pack had or no pack may have";

  std::string ReceivePart(uint64_t ordinal, uint32_t source_offset);

  PackSpec spec_;
  uint64_t sequences_ = 0;
  uint64_t units_ = 0;
  OrdinalSet complete_;              // dropped ones too
  std::map<uint64_t, Parts> parts_;  // by ordinal
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_UNIT_LEDGER_H_
