#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "session/client_session.h"
#include "session/messages.h"
#include "src/arrays.h"
#include "src/module.h"
#include "src/packs.h"
#include "src/status.h"

namespace nb = nanobind;

namespace packhouse {
namespace {

// (name, its fields), for the transport to put into a message.
struct ToTuple {
  nb::object operator()(const std::monostate&) const { return nb::none(); }
  nb::object operator()(const Open& open) const {
    nb::object state = nb::none();
    uint64_t received = 0;
    if (open.resume.has_value()) {
      state = nb::bytes(open.resume->state.data(), open.resume->state.size());
      received = open.resume->received_packs;
    }
    return nb::make_tuple("open", open.protocol_version, open.stream_id,
                          open.incarnation, state, received);
  }
  nb::object operator()(Batch batch) const {
    return nb::make_tuple("batch", batch.number,
                          ArrayOf(std::move(batch.lengths)));
  }
  nb::object operator()(const Flush& flush) const {
    return nb::make_tuple("flush", flush.number);
  }
  nb::object operator()(const End& end) const {
    return nb::make_tuple("end", end.number);
  }
};

using CreditFields = std::optional<std::tuple<uint64_t, uint64_t, uint64_t>>;

// The lists that a message has, as the packs they say.
absl::StatusOr<Packs> PacksOf(uint64_t base, const ArrayIn<uint32_t>& sizes,
                              const ArrayIn<uint32_t>& ordinals,
                              const ArrayIn<uint32_t>& source_offsets) {
  const auto span = SpanOf(sizes);
  const uint64_t units = std::accumulate(span.begin(), span.end(), uint64_t{0});
  const bool has_empty = std::find(span.begin(), span.end(), 0u) != span.end();
  const bool has_offsets = source_offsets.size() > 0;
  if (units != ordinals.size() || has_empty ||
      (has_offsets && source_offsets.size() != ordinals.size()) ||
      base > std::numeric_limits<uint64_t>::max() -
                 std::numeric_limits<uint32_t>::max()) {
    return absl::InternalError(absl::StrCat(
        "a list of packs has sizes of ", units, " units, ", ordinals.size(),
        " ordinals from ", base, " on and ", source_offsets.size(),
        " source offsets", has_empty ? ", and a pack without units" : ""));
  }
  Packs packs;
  for (const uint32_t size : span) {
    packs.offsets.push_back(packs.offsets.back() + size);
  }
  packs.ordinals.reserve(ordinals.size());
  for (const uint32_t ordinal : SpanOf(ordinals)) {
    packs.ordinals.push_back(base + ordinal);
  }
  packs.source_offsets.assign(SpanOf(source_offsets).begin(),
                              SpanOf(source_offsets).end());
  return packs;
}

void Receive(ClientSession* session, Event event, const CreditFields& credit) {
  Response response;
  response.event = std::move(event);
  if (credit.has_value()) {
    const auto [received, inputs, sequences] = *credit;
    response.credit = Credit{received, inputs, sequences};
  }
  ThrowUnlessOk(session->Receive(response));
}

absl::string_view View(const nb::bytes& bytes) {
  return absl::string_view(bytes.c_str(), bytes.size());
}

absl::Status RefusedStatus(int code, const std::string& message) {
  const bool known =
      code >= static_cast<int>(absl::StatusCode::kCancelled) &&
      code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return absl::Status(
      known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kInternal,
      message);
}

}  // namespace

void AddSession(nb::module_& module) {
  nb::class_<ClientSession>(module, "ClientSession")
      .def(nb::init<const PackSpec&, uint32_t, std::string>(), nb::arg("spec"),
           nb::arg("batch_sequences"), nb::arg("stream_id"))
      .def_static(
          "restore",
          [](const PackSpec& spec, uint32_t batch, const nb::bytes& state) {
            return ValueOrThrow(
                ClientSession::Restore(spec, batch, View(state)));
          },
          nb::arg("spec"), nb::arg("batch_sequences"), nb::arg("state"))
      .def(
          "add",
          [](ClientSession& self, const ArrayIn<uint32_t>& lengths) {
            ThrowUnlessOk(self.Add(SpanOf(lengths)));
          },
          nb::arg("lengths"))
      .def("flush", [](ClientSession& self) { ThrowUnlessOk(self.Flush()); })
      .def("end", &ClientSession::End)
      .def("push", &ClientSession::Push)
      .def("take", [](ClientSession& self) { return ToPython(self.Take()); })
      .def("save",
           [](const ClientSession& self) {
             const std::string state = self.Save();
             return nb::bytes(state.data(), state.size());
           })
      .def_prop_ro("settled", &ClientSession::settled)
      .def_prop_ro("opened", &ClientSession::opened)
      .def_prop_ro("ended", &ClientSession::ended)
      .def_prop_ro("given_sequences", &ClientSession::given_sequences)
      .def_prop_ro("unsent_sequences", &ClientSession::unsent_sequences)
      .def_prop_ro("answered_number", &ClientSession::answered_number)
      .def_prop_ro("draining", &ClientSession::draining)
      .def("connect", &ClientSession::Connect, nb::arg("incarnation"))
      .def("next_request",
           [](ClientSession& self) -> nb::object {
             absl::optional<Request> request = self.NextRequest();
             if (!request.has_value()) return nb::none();
             return std::visit(ToTuple(), *std::move(request));
           })
      .def(
          "receive_credit",
          [](ClientSession& self, const CreditFields& credit) {
            Receive(&self, std::monostate(), credit);
          },
          nb::arg("credit").none())
      .def(
          "receive_opened",
          [](ClientSession& self, uint32_t version, uint64_t incarnation,
             uint32_t batch, uint64_t sequences, uint64_t inputs,
             const CreditFields& credit) {
            Receive(&self,
                    Opened{version, incarnation, batch, sequences, inputs},
                    credit);
          },
          nb::arg("protocol_version"), nb::arg("server_incarnation"),
          nb::arg("max_batch_sequences"), nb::arg("snapshot_sequences"),
          nb::arg("snapshot_inputs"), nb::arg("credit").none())
      .def(
          "receive_packs",
          [](ClientSession& self, uint64_t first_number, uint64_t base,
             const ArrayIn<uint32_t>& sizes, const ArrayIn<uint32_t>& ordinals,
             const ArrayIn<uint32_t>& source_offsets,
             const CreditFields& credit) {
            PackList list;
            list.first_number = first_number;
            list.packs =
                ValueOrThrow(PacksOf(base, sizes, ordinals, source_offsets));
            Receive(&self, std::move(list), credit);
          },
          nb::arg("first_number"), nb::arg("base_ordinal"), nb::arg("sizes"),
          nb::arg("ordinals"), nb::arg("source_offsets"),
          nb::arg("credit").none())
      .def(
          "receive_refused",
          [](ClientSession& self, uint64_t number, int code,
             const std::string& message, const CreditFields& credit) {
            Receive(&self, Refused{number, RefusedStatus(code, message)},
                    credit);
          },
          nb::arg("number"), nb::arg("code"), nb::arg("message"),
          nb::arg("credit").none())
      .def(
          "receive_ended",
          [](ClientSession& self, uint64_t sequences, uint64_t packs,
             uint64_t units, const CreditFields& credit) {
            Receive(&self, Ended{sequences, packs, units}, credit);
          },
          nb::arg("sequences"), nb::arg("packs"), nb::arg("units"),
          nb::arg("credit").none())
      .def(
          "receive_snapshot",
          [](ClientSession& self, uint64_t received_number, uint64_t sequences,
             uint64_t packs, const nb::bytes& state,
             const CreditFields& credit) {
            Receive(&self,
                    Snapshot{received_number, sequences, packs,
                             std::string(View(state))},
                    credit);
          },
          nb::arg("received_number"), nb::arg("sequences"), nb::arg("packs"),
          nb::arg("state"), nb::arg("credit").none())
      .def(
          "receive_drain",
          [](ClientSession& self, double grace_seconds,
             const CreditFields& credit) {
            Receive(&self, Drain{grace_seconds}, credit);
          },
          nb::arg("grace_seconds"), nb::arg("credit").none());
}

}  // namespace packhouse
