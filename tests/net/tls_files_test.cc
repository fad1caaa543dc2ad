#include "net/tls/tls_files.h"

#include <openssl/err.h>

#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/pki.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

class TlsFilesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pki_ = new Pki;
    pki_->Issue("a", "a");
    pki_->Issue("b", "b");
    pki_->Run("ec -aes128 -passout pass:secret -in " + File("a.key") +
              " -out " + File("locked.key"));
    Write("junk", "no PEM at all\n");
    Write("empty", "");
    Write("cut", Read("a.pem").substr(0, Read("a.pem").size() / 2));
    Write("chain", Read("a.pem") + Read("ca.pem"));
    Write("wrong-order", Read("ca.pem") + Read("a.pem"));
    Write("half-chain", Read("a.pem") + Read("cut"));
    Write("both", Read("a.key") + Read("a.pem"));
  }
  static void TearDownTestSuite() { delete pki_; }

  // Whatever happened, gRPC must not find errors that are not its own.
  void TearDown() override { EXPECT_EQ(ERR_peek_error(), 0); }

  static std::string File(const std::string& name) { return pki_->File(name); }
  static std::string Read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(File(name)).rdbuf();
    return text.str();
  }
  static void Write(const std::string& name, const std::string& text) {
    std::ofstream(File(name)) << text;
  }
  static absl::Status CheckIdentity(const std::string& cert,
                                    const std::string& key) {
    return ReadIdentity(File(cert), File(key)).status();
  }

  static Pki* pki_;
};

Pki* TlsFilesTest::pki_ = nullptr;

TEST_F(TlsFilesTest, GoodOnes) {
  EXPECT_THAT(CheckIdentity("a.pem", "a.key"), IsOk());
  EXPECT_THAT(CheckIdentity("chain", "a.key"), IsOk());
  EXPECT_THAT(CheckIdentity("both", "both"), IsOk());
  EXPECT_THAT(ReadAuthorities(File("ca.pem")).status(), IsOk());
  EXPECT_THAT(ReadAuthorities(File("chain")).status(), IsOk());
}

TEST_F(TlsFilesTest, Certificates) {
  for (const char* name : {"missing", "junk", "empty", "cut", "half-chain"}) {
    EXPECT_THAT(CheckIdentity(name, "a.key"),
                StatusIs(kRefused, HasSubstr("TLS certificate " + File(name))));
    EXPECT_THAT(ReadAuthorities(File(name)).status(),
                StatusIs(kRefused, HasSubstr("TLS authorities " + File(name))));
  }
  EXPECT_THAT(ReadAuthorities(File("missing")).status(),
              StatusIs(kRefused, HasSubstr("No such file")));
  EXPECT_THAT(ReadAuthorities(File("junk")).status(),
              StatusIs(kRefused, HasSubstr("no certificate in PEM form")));
  EXPECT_THAT(ReadAuthorities(File("half-chain")).status(),
              StatusIs(kRefused, HasSubstr("certificate 2 in it")));
}

TEST_F(TlsFilesTest, Keys) {
  for (const char* name : {"missing", "junk", "empty", "a.pem", "locked.key"}) {
    EXPECT_THAT(CheckIdentity("a.pem", name),
                StatusIs(kRefused, HasSubstr("TLS key " + File(name))));
  }
  EXPECT_THAT(CheckIdentity("a.pem", "locked.key"),
              StatusIs(kRefused, HasSubstr("needs a password")));
}

TEST_F(TlsFilesTest, KeysOfOtherCertificates) {
  EXPECT_THAT(CheckIdentity("a.pem", "b.key"),
              StatusIs(kRefused, AllOf(HasSubstr("does not belong"),
                                       HasSubstr(File("a.pem")),
                                       HasSubstr(File("b.key")))));
  EXPECT_THAT(CheckIdentity("wrong-order", "a.key"),
              StatusIs(kRefused, HasSubstr("first certificate")));
}

}  // namespace
}  // namespace packhouse
