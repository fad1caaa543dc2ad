#include "server/settings.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "session/limits.h"
#include "tests/status_matchers.h"
#include "tests/temp_dir.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// For every option two values that it may have.
const std::map<std::string, std::pair<std::string, std::string>>& Samples() {
  static const auto* const samples =
      new std::map<std::string, std::pair<std::string, std::string>>{
          {"listen", {"unix:/a", "127.0.0.1:1"}},
          {"http", {"127.0.0.1:0", "localhost:1"}},
          {"socket-mode", {"0600", "0666"}},
          {"socket-group", {"users", "7"}},
          {"insecure", {"true", "false"}},
          {"tls-cert", {"/a", "/b"}},
          {"tls-key", {"/a", "/b"}},
          {"tls-client-ca", {"/a", "/b"}},
          {"tls-allow-client", {"a", "spiffe://b"}},
          {"tls-refresh", {"1", "86400"}},
          {"max-window", {"512", "1024"}},
          {"max-plan", {"10", "20"}},
          {"max-streams", {"1", "1000000"}},
          {"max-memory", {"64M", "3G"}},
          {"grace", {"0", "1.5"}},
          {"idle-timeout", {"0", "60"}},
          {"packing-threads", {"1", "8"}},
          {"log-format", {"json", "text"}},
      };
  return *samples;
}

std::string Variable(const std::string& name) {
  return "PACKHOUSE_" +
         absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}}));
}

const Setting& Find(const Settings& settings, const std::string& name) {
  const auto found =
      std::find_if(settings.all.begin(), settings.all.end(),
                   [&](const Setting& each) { return each.name == name; });
  EXPECT_NE(found, settings.all.end()) << name;
  return *found;
}

class SettingsTest : public testing::Test {
 protected:
  // The arguments for a file with this text.
  std::string Config(const std::string& text) const {
    std::ofstream(path_) << text;
    return "--config=" + path_;
  }

  TempDir dir_;
  const std::string path_ = dir_.File("packhoused.toml");
};

TEST_F(SettingsTest, SamplesAreThoseOfAllOptions) {
  std::vector<std::string> names = {"config"};
  for (const auto& [name, values] : Samples()) names.push_back(name);
  std::vector<std::string> known;
  const absl::StatusOr<Settings> settings = ReadSettings({}, {});
  ASSERT_THAT(settings, IsOk());
  for (const Setting& setting : settings->all) {
    known.push_back(setting.name);
    EXPECT_EQ(setting.origin, Origin::kDefault) << setting.name;
  }
  EXPECT_THAT(known, UnorderedElementsAreArray(names));
}

// Each option from each source alone, then each source over those below it.
TEST_F(SettingsTest, EveryOptionFromEverySource) {
  for (const auto& [name, values] : Samples()) {
    SCOPED_TRACE(name);
    const std::string& value = values.first;
    const std::string& lower = values.second;
    const std::string argument = absl::StrCat("--", name, "=", value);
    const std::string variable = absl::StrCat(Variable(name), "=", value);
    const std::string lower_variable = absl::StrCat(Variable(name), "=", lower);
    const std::string key = absl::StrCat(name, " = \"", value, "\"\n");
    const std::string lower_key = absl::StrCat(name, " = \"", lower, "\"\n");
    struct Case {
      std::vector<std::string> args;
      std::vector<std::string> environment;
      std::string file;
      Origin origin;
    };
    for (const Case& each : std::vector<Case>{
             {{argument}, {}, "", Origin::kCommandLine},
             {{}, {variable}, "", Origin::kEnvironment},
             {{}, {}, key, Origin::kFile},
             {{argument}, {lower_variable}, lower_key, Origin::kCommandLine},
             {{argument}, {}, lower_key, Origin::kCommandLine},
             {{}, {variable}, lower_key, Origin::kEnvironment}}) {
      std::vector<std::string> args = each.args;
      args.push_back(Config(each.file));
      const absl::StatusOr<Settings> settings =
          ReadSettings(args, each.environment);
      ASSERT_THAT(settings, IsOk());
      EXPECT_EQ(Find(*settings, name).value, value);
      EXPECT_EQ(OriginName(Find(*settings, name).origin),
                OriginName(each.origin));
      for (const Setting& other : settings->all) {
        if (other.name != name && other.name != "config") {
          EXPECT_EQ(other.origin, Origin::kDefault) << other.name;
        }
      }
    }
  }
}

TEST_F(SettingsTest, ValuesArriveWhereTheyBelong) {
  std::vector<std::string> args;
  for (const auto& [name, values] : Samples()) {
    args.push_back(absl::StrCat("--", name, "=", values.first));
  }
  const absl::StatusOr<Settings> settings = ReadSettings(args, {});
  ASSERT_THAT(settings, IsOk());
  const ServerOptions& server = settings->server;
  EXPECT_THAT(server.listen, ElementsAre("unix:/a"));
  EXPECT_EQ(server.http, "127.0.0.1:0");
  EXPECT_EQ(server.socket_mode, 0600);
  EXPECT_EQ(server.socket_group, "users");
  EXPECT_TRUE(server.insecure);
  EXPECT_EQ(server.tls.cert_file, "/a");
  EXPECT_EQ(server.tls.key_file, "/a");
  EXPECT_EQ(server.tls.client_ca_file, "/a");
  EXPECT_THAT(server.tls.allow_clients, ElementsAre("a"));
  EXPECT_EQ(server.tls.refresh_seconds, 1);
  EXPECT_EQ(server.limits.max_window_sequences, 512);
  EXPECT_EQ(server.max_plan_sequences, 10);
  EXPECT_EQ(settings->grace_seconds, 0);
  EXPECT_EQ(settings->log_format, Log::Format::kJson);
}

// What is said to be the default is what holds.
TEST_F(SettingsTest, DefaultsAreThoseOfTheOptions) {
  const Settings settings = *ReadSettings({}, {});
  const ServerOptions server;
  EXPECT_EQ(Find(settings, "socket-mode").value, "0660");
  EXPECT_EQ(server.socket_mode, 0660);
  EXPECT_EQ(Find(settings, "tls-refresh").value,
            absl::StrCat(server.tls.refresh_seconds));
  EXPECT_EQ(Find(settings, "max-window").value,
            absl::StrCat(server.limits.max_window_sequences));
  EXPECT_EQ(Find(settings, "max-plan").value,
            absl::StrCat(server.max_plan_sequences));
  EXPECT_EQ(Find(settings, "grace").value,
            absl::StrCat(settings.grace_seconds));
  EXPECT_EQ(Find(settings, "log-format").value, "text");
  EXPECT_EQ(settings.log_format, Log::Format::kText);
  EXPECT_EQ(Find(settings, "insecure").value, "false");
  for (const char* name : {"listen", "http", "socket-group", "tls-cert",
                           "tls-key", "tls-client-ca", "tls-allow-client"}) {
    EXPECT_EQ(Find(settings, name).value, "") << name;
  }
}

TEST_F(SettingsTest, Lists) {
  const std::vector<std::string> expected = {"unix:/a b", "[::1]:0", "c:1"};
  EXPECT_EQ(
      ReadSettings(
          {"--listen", "unix:/a b", "--listen=[::1]:0", "--listen", "c:1"}, {})
          ->server.listen,
      expected);
  for (const char* value :
       {"unix:/a b,[::1]:0,c:1", "unix:/a b\n[::1]:0\nc:1\n",
        " unix:/a b , [::1]:0 ,, c:1 "}) {
    EXPECT_EQ(ReadSettings({}, {absl::StrCat("PACKHOUSE_LISTEN=", value)})
                  ->server.listen,
              expected);
  }
  for (const char* text :
       {"listen = [\"unix:/a b\", \"[::1]:0\", \"c:1\"]\n",
        "listen = \"unix:/a b\"\nlisten = \"[::1]:0\"\n\nlisten = c:1\n"}) {
    EXPECT_EQ(ReadSettings({Config(text)}, {})->server.listen, expected)
        << text;
  }
  // On the command line and in the file a comma is part of a name.
  EXPECT_THAT(ReadSettings({"--listen", "unix:/a,b"}, {})->server.listen,
              ElementsAre("unix:/a,b"));
  // The higher list replaces the lower one.
  EXPECT_THAT(ReadSettings({"--listen", "a:1"}, {"PACKHOUSE_LISTEN=b:1"})
                  ->server.listen,
              ElementsAre("a:1"));
}

TEST_F(SettingsTest, Flags) {
  for (const char* yes : {"true", "1", "yes", "on"}) {
    EXPECT_TRUE(
        ReadSettings({absl::StrCat("--insecure=", yes)}, {})->server.insecure);
    EXPECT_TRUE(ReadSettings({}, {absl::StrCat("PACKHOUSE_INSECURE=", yes)})
                    ->server.insecure);
    EXPECT_TRUE(ReadSettings({Config(absl::StrCat("insecure = ", yes))}, {})
                    ->server.insecure);
  }
  EXPECT_TRUE(ReadSettings({"--insecure"}, {})->server.insecure);
  for (const char* no : {"false", "0", "no", "off"}) {
    // Against a lower source that says yes.
    const std::string file = Config("insecure = true");
    EXPECT_FALSE(ReadSettings({file, absl::StrCat("--insecure=", no)}, {})
                     ->server.insecure);
    EXPECT_FALSE(ReadSettings({file}, {absl::StrCat("PACKHOUSE_INSECURE=", no)})
                     ->server.insecure);
    EXPECT_FALSE(ReadSettings({Config(absl::StrCat("insecure = ", no))}, {})
                     ->server.insecure);
  }
  EXPECT_THAT(ReadSettings({}, {"PACKHOUSE_INSECURE=maybe"}),
              StatusIs(kInvalid, HasSubstr("PACKHOUSE_INSECURE")));
  EXPECT_THAT(ReadSettings({Config("insecure = maybe")}, {}),
              StatusIs(kInvalid, HasSubstr(path_)));
  EXPECT_THAT(ReadSettings({"--insecure=maybe"}, {}),
              StatusIs(kInvalid, HasSubstr("--insecure")));
}

TEST_F(SettingsTest, BadValuesNameTheirSource) {
  const auto both = [](const std::string& source, const std::string& value) {
    return StatusIs(kInvalid, AllOf(HasSubstr(source), HasSubstr(value)));
  };
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"socket-mode", "0888"},
                                          {"tls-refresh", "0"},
                                          {"max-window", "0"},
                                          {"max-plan", "many"},
                                          {"grace", "nan"},
                                          {"log-format", "xml"}}) {
    EXPECT_THAT(ReadSettings({absl::StrCat("--", name, "=", value)}, {}),
                both(absl::StrCat("--", name), value));
    EXPECT_THAT(ReadSettings({}, {absl::StrCat(Variable(name), "=", value)}),
                both(Variable(name), value));
    EXPECT_THAT(ReadSettings({Config(absl::StrCat(name, " = ", value))}, {}),
                both(path_, value));
  }
  for (const char* number : {"010", "0x10", "1e3", "1.5", "-1", "1 ", ""}) {
    EXPECT_THAT(ReadSettings({absl::StrCat("--max-plan=", number)}, {}),
                StatusIs(kInvalid, HasSubstr("--max-plan")))
        << number;
  }
  for (const char* mode : {"", "8", "0o660", "660x", "-1", "1777", "00660"}) {
    EXPECT_THAT(ReadSettings({absl::StrCat("--socket-mode=", mode)}, {}),
                StatusIs(kInvalid, HasSubstr("--socket-mode")))
        << mode;
  }
  EXPECT_EQ(ReadSettings({"--socket-mode=660"}, {})->server.socket_mode, 0660);
}

// Not even where it is a path or a name: TLS must not be left out for it.
TEST_F(SettingsTest, EmptyValuesAreRefused) {
  const Settings defaults = *ReadSettings({}, {});
  for (const Setting& setting : defaults.all) {
    if (setting.name == "insecure" || setting.name == "config") continue;
    SCOPED_TRACE(setting.name);
    const std::string option = absl::StrCat("--", setting.name);
    const auto refused = StatusIs(
        kInvalid, AllOf(HasSubstr(setting.name), HasSubstr("is empty")));
    EXPECT_THAT(ReadSettings({option, ""}, {}), refused);
    EXPECT_THAT(ReadSettings({absl::StrCat(option, "=")}, {}),
                StatusIs(kInvalid, HasSubstr(setting.name)));
  }
  EXPECT_THAT(ReadSettings({Config("tls-cert = \"\"")}, {}),
              StatusIs(kInvalid, HasSubstr(path_)));
}

// A server with less could never open a stream.
TEST_F(SettingsTest, TheLeastMemoryHasRoomForAStream) {
  PackSpec smallest;
  smallest.capacity_tokens = 1;
  EXPECT_LE(StreamMemoryBound(smallest, SessionLimits()), 2u << 20);
  EXPECT_THAT(ReadSettings({"--max-memory", "2M"}, {}), IsOk());
  EXPECT_THAT(ReadSettings({"--max-memory", "2097151"}, {}),
              StatusIs(kInvalid, HasSubstr("2M to 1024G")));
}

TEST_F(SettingsTest, EmptyVariablesAreNotSet) {
  const Settings settings =
      *ReadSettings({}, {"PACKHOUSE_GRACE=", "PACKHOUSE_LISTEN="});
  EXPECT_EQ(Find(settings, "grace").origin, Origin::kDefault);
  EXPECT_EQ(Find(settings, "listen").origin, Origin::kDefault);
}

TEST_F(SettingsTest, UnknownVariables) {
  const Settings settings = *ReadSettings(
      {}, {"PACKHOUSE_MAX_WINDWO=5", "PACKHOUSE_HELP=1", "PACKHOUSE_GRACE=1",
           "PACKHOUSE_=", "PATH=/bin", "MY_PACKHOUSE_X=1", "PACKHOUSEX=1"});
  EXPECT_THAT(settings.unknown_variables,
              ElementsAre("PACKHOUSE_HELP", "PACKHOUSE_MAX_WINDWO"));
}

TEST_F(SettingsTest, FilesThatAreRefused) {
  for (const char* text :
       {"max-windwo = 5", "max_window = 5", "help = true", "version = true",
        "config = \"other\"", "[server]\nmax-window = 5", "server.grace = 5",
        "grace = 1\nmax-plan = 2\ngrace = 3", "grace = [1, 2]",
        "listen = [\n  \"a:1\",\n  \"b:1\"\n]", "grace = 1 2"}) {
    EXPECT_THAT(ReadSettings({Config(text)}, {}),
                StatusIs(kInvalid, HasSubstr(path_)))
        << text;
  }
  EXPECT_THAT(
      ReadSettings({Config("grace = 1\nlisten = [\n  \"a:1\",\n]\n")}, {}),
      StatusIs(kInvalid, HasSubstr("line 2: a list stands in one line")));
  EXPECT_THAT(ReadSettings({Config("max-windwo = 5")}, {}),
              StatusIs(kInvalid, HasSubstr("max-windwo")));
  EXPECT_THAT(ReadSettings({"--config", dir_.File("none")}, {}),
              StatusIs(kInvalid, AllOf(HasSubstr(dir_.File("none")),
                                       HasSubstr("No such file"))));
  EXPECT_THAT(ReadSettings({"--config", dir_.File("")}, {}),
              StatusIs(kInvalid, HasSubstr("not a regular file")));
}

TEST_F(SettingsTest, FileNamedByTheEnvironment) {
  Config("# of the node\n\n; and\ngrace = 7  # seconds\n");
  const Settings settings =
      *ReadSettings({}, {absl::StrCat("PACKHOUSE_CONFIG=", path_)});
  EXPECT_EQ(settings.grace_seconds, 7);
  EXPECT_EQ(Find(settings, "config").origin, Origin::kEnvironment);
}

TEST_F(SettingsTest, HelpAndVersion) {
  const std::string help = ReadSettings({"--help"}, {})->answer;
  for (const auto& [name, values] : Samples()) {
    EXPECT_THAT(help, HasSubstr("--" + name + " "));
  }
  EXPECT_EQ(ReadSettings({"--version"}, {})->answer,
            absl::StrCat("packhoused ", ServerVersion(), "\n"));
  EXPECT_THAT(ReadSettings({}, {})->answer, IsEmpty());
}

TEST_F(SettingsTest, WrongUsage) {
  for (const char* argument : {"--nonsense", "word", "-x", "--grace"}) {
    EXPECT_THAT(ReadSettings({argument}, {}),
                StatusIs(kInvalid, HasSubstr("--help")))
        << argument;
  }
}

}  // namespace
}  // namespace packhouse
