#include "net/tls/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "net/small_file.h"

namespace packhouse {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

absl::Status Failure(absl::string_view what, absl::string_view path,
                     absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", path, ": ", reason));
}

// The file as a source of PEM blocks; `bytes` must outlive it.
Owned<BIO> Source(const std::string& bytes) {
  return Owned<BIO>(
      BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

// The reason of OpenSSL's last error. Leaves none behind, for gRPC looks there.
std::string TakeReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = reason == nullptr ? "unknown reason" : reason;
  ERR_clear_error();
  return text;
}

absl::StatusOr<std::string> ReadPem(absl::string_view what,
                                    const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadSmallFile(path);
  if (bytes.ok()) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", bytes.status().message()));
}

// All certificates in the bytes of a file, at least one.
absl::StatusOr<std::vector<Owned<X509>>> ParseCertificates(
    absl::string_view what, const std::string& path, const std::string& bytes) {
  const Owned<BIO> source = Source(bytes);
  std::vector<Owned<X509>> certificates;
  while (X509* next =
             PEM_read_bio_X509(source.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next);
  }
  const bool at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = TakeReason();
  if (!at_end) {
    return Failure(what, path,
                   absl::StrCat("certificate ", certificates.size() + 1,
                                " in it cannot be read: ", reason));
  }
  if (certificates.empty()) {
    return Failure(what, path, "has no certificate in PEM form");
  }
  return certificates;
}

absl::StatusOr<Owned<EVP_PKEY>> ParseKey(absl::string_view what,
                                         const std::string& path,
                                         const std::string& bytes) {
  const Owned<BIO> source = Source(bytes);
  bool needs_password = false;
  // Without it OpenSSL would ask the terminal.
  const auto refuse_password = [](char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
  };
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(
      source.get(), nullptr, refuse_password, &needs_password));
  const std::string reason = TakeReason();
  if (key != nullptr) return key;
  if (needs_password) return Failure(what, path, "needs a password");
  return Failure(what, path,
                 absl::StrCat("has no private key in PEM form: ", reason));
}

}  // namespace

absl::StatusOr<TlsIdentity> ReadIdentity(const std::string& cert_file,
                                         const std::string& key_file) {
  constexpr char kCertificate[] = "TLS certificate";
  constexpr char kKey[] = "TLS key";
  absl::StatusOr<std::string> cert_bytes = ReadPem(kCertificate, cert_file);
  if (!cert_bytes.ok()) return cert_bytes.status();
  const auto certificates =
      ParseCertificates(kCertificate, cert_file, *cert_bytes);
  if (!certificates.ok()) return certificates.status();
  absl::StatusOr<std::string> key_bytes = ReadPem(kKey, key_file);
  if (!key_bytes.ok()) return key_bytes.status();
  const auto key = ParseKey(kKey, key_file, *key_bytes);
  if (!key.ok()) return key.status();
  const bool match =
      X509_check_private_key(certificates->front().get(), key->get()) == 1;
  ERR_clear_error();
  if (match) return TlsIdentity{*std::move(cert_bytes), *std::move(key_bytes)};
  return Failure(
      kKey, key_file,
      absl::StrCat("does not belong to the first certificate of ", cert_file));
}

absl::StatusOr<std::string> ReadAuthorities(const std::string& ca_file) {
  constexpr char kAuthorities[] = "TLS authorities";
  absl::StatusOr<std::string> bytes = ReadPem(kAuthorities, ca_file);
  if (!bytes.ok()) return bytes.status();
  const auto certificates = ParseCertificates(kAuthorities, ca_file, *bytes);
  if (!certificates.ok()) return certificates.status();
  return bytes;
}

}  // namespace packhouse
