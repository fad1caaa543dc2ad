#include "server/tls_credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace packhouse {
namespace {

void AddValues(const grpc::AuthContext& context, const char* property,
               std::vector<std::string>* values) {
  for (const grpc::string_ref& value : context.FindPropertyValues(property)) {
    values->emplace_back(value.data(), value.size());
  }
}

// The names that a verified certificate gives its owner: DNS and URI names, or
// the common name of an old one that has no alternative names of any kind.
std::vector<std::string> NamesOfPeer(const grpc::AuthContext& context) {
  std::vector<std::string> names;
  if (context.FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME).empty()) {
    AddValues(context, GRPC_X509_CN_PROPERTY_NAME, &names);
  } else {
    AddValues(context, GRPC_PEER_DNS_PROPERTY_NAME, &names);
    AddValues(context, GRPC_PEER_URI_PROPERTY_NAME, &names);
  }
  return names;
}

// Names as an error shows them: a certificate may have many and long ones.
std::string Shown(const std::vector<std::string>& names) {
  constexpr size_t kShownBytes = 500;
  if (names.empty()) return "no name";
  const std::string joined = absl::CEscape(absl::StrJoin(names, ", "));
  return absl::StrCat("the name ", joined.substr(0, kShownBytes),
                      joined.size() > kShownBytes ? "..." : "");
}

// Lets the calls of named clients pass. gRPC asks it before any service sees a
// call, those of gRPC's own among them.
class NamedClientsOnly final : public grpc::AuthMetadataProcessor {
 public:
  NamedClientsOnly(const std::vector<std::string>& names, Log* log)
      : names_(names.begin(), names.end()), log_(log) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata&, grpc::AuthContext* context,
                       OutputMetadata*, OutputMetadata*) override {
    const std::vector<std::string> names = NamesOfPeer(*context);
    for (const std::string& name : names) {
      if (names_.contains(name)) return grpc::Status::OK;
    }
    const std::string shown = Shown(names);
    if (log_ != nullptr) {
      constexpr char kRefused[] = "client refused";
      log_->RepeatedWarning(kRefused, kRefused, {{"client", shown}});
    }
    return grpc::Status(
        grpc::StatusCode::PERMISSION_DENIED,
        absl::StrCat("a client with ", shown, " is not allowed here"));
  }

 private:
  const absl::flat_hash_set<std::string> names_;
  Log* const log_;
};

absl::Status CheckOptions(const TlsServerOptions& options) {
  const auto needs = [](absl::string_view option, absl::string_view other) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", option, " needs --", other));
  };
  if (options.cert_file.empty()) {
    return needs(!options.key_file.empty()         ? "tls-key"
                 : !options.client_ca_file.empty() ? "tls-client-ca"
                                                   : "tls-allow-client",
                 "tls-cert");
  }
  if (options.key_file.empty()) return needs("tls-cert", "tls-key");
  if (!options.allow_clients.empty() && options.client_ca_file.empty()) {
    return needs("tls-allow-client", "tls-client-ca");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TlsWatch*> WatchTls(const TlsServerOptions& options) {
  absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  return TlsWatch::Of(
      {options.cert_file, options.key_file, options.client_ca_file},
      options.refresh_seconds);
}

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    const TlsServerOptions& options, const TlsWatch& watch, Log* log) {
  grpc::experimental::TlsServerCredentialsOptions tls(watch.provider());
  tls.watch_identity_key_cert_pairs();
  if (!options.client_ca_file.empty()) {
    tls.watch_root_certs();
    tls.set_cert_request_type(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  std::shared_ptr<grpc::ServerCredentials> credentials =
      grpc::experimental::TlsServerCredentials(tls);
  if (!options.allow_clients.empty()) {
    credentials->SetAuthMetadataProcessor(
        std::make_shared<NamedClientsOnly>(options.allow_clients, log));
  }
  return credentials;
}

}  // namespace packhouse
