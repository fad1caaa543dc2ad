// What depends on the process: forks and its environment. gRPC starts in
// forked children only, so that each test begins without it.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/client.h"
#include "tests/client/test_server.h"

namespace packhouse {
namespace {

// Long enough for a child that works, and its end if it hangs.
constexpr unsigned kChildLimitSeconds = 60;

// What `work` returned in a forked child; -1 if it crashed or hung. Such a
// child has no GoogleTest, so it says with its exit code how far it came.
int InChild(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildLimitSeconds);
    _exit(work());
  }
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

// A server in a process of its own, on a port of the kernel's choice, which is
// written to a pipe.
class ServerProcess {
 public:
  ServerProcess() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    child_ = fork();
    if (child_ == 0) {
      const std::unique_ptr<Server> server = StartServer("127.0.0.1:0");
      const std::string& address = server->addresses()[0];
      if (write(ready[1], address.data(), address.size()) < 0) _exit(1);
      close(ready[1]);
      while (true) pause();
    }
    close(ready[1]);
    char byte;
    while (read(ready[0], &byte, 1) == 1) target_ += byte;
    close(ready[0]);
  }

  ~ServerProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  const std::string& target() const { return target_; }

 private:
  pid_t child_ = 0;
  std::string target_;
};

PackSpec SmallSpec() {
  PackSpec spec;
  spec.capacity_tokens = 10;
  return spec;
}

std::unique_ptr<Client> MakeClient(const std::string& target) {
  ClientOptions options;
  options.target = target;
  options.answer_within = absl::Seconds(20);
  return *Client::Create(options);
}

// The code of a call as the exit code of a child.
int Code(const absl::Status& status) { return static_cast<int>(status.code()); }

constexpr int kOk = static_cast<int>(absl::StatusCode::kOk);
constexpr int kFailedPrecondition =
    static_cast<int>(absl::StatusCode::kFailedPrecondition);

int UseStream(Client* client) {
  const absl::StatusOr<std::unique_ptr<PackStream>> stream =
      client->OpenStream(SmallSpec());
  if (!stream.ok()) return Code(stream.status());
  absl::Status status = (*stream)->Add({1, 2, 3});
  if (status.ok()) status = (*stream)->End();
  return Code(status);
}

TEST(Fork, AClientThatWasNotUsedWorksInChildren) {
  const ServerProcess server;
  const std::unique_ptr<Client> client = MakeClient(server.target());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(InChild([&] { return UseStream(client.get()); }), kOk);
  }
}

TEST(Fork, AClientThatWasUsedIsRefusedInChildren) {
  const ServerProcess server;
  EXPECT_EQ(InChild([&] {
              const std::unique_ptr<Client> client =
                  MakeClient(server.target());
              if (UseStream(client.get()) != kOk) return 100;
              if (InChild([&] { return UseStream(client.get()); }) !=
                  kFailedPrecondition) {
                return 101;
              }
              if (InChild([&] { return Code(client->CheckHealth()); }) !=
                  kFailedPrecondition) {
                return 102;
              }
              if (InChild([&] {
                    return Code(client->Plan({1}, SmallSpec()).status());
                  }) != kFailedPrecondition) {
                return 103;
              }
              // A new client makes gRPC no better.
              if (InChild([&] {
                    return UseStream(MakeClient(server.target()).get());
                  }) != kFailedPrecondition) {
                return 104;
              }
              return UseStream(client.get());
            }),
            kOk);
}

TEST(Fork, AStreamIsRefusedAndCanBeDestroyedInChildren) {
  const ServerProcess server;
  EXPECT_EQ(InChild([&] {
              std::unique_ptr<Client> client = MakeClient(server.target());
              std::unique_ptr<PackStream> stream =
                  *client->OpenStream(SmallSpec());
              const int in_child = InChild([&] {
                const int code = Code(stream->Add({1}));
                stream.reset();
                client.reset();
                return code;
              });
              if (in_child != kFailedPrecondition) return 100;
              if (!stream->Add({1}).ok()) return 101;
              return Code(stream->End());
            }),
            kOk);
}

TEST(Fork, GrpcThatSomebodyElseStartedIsNoticed) {
  EXPECT_EQ(
      InChild([] {
        const std::unique_ptr<Server> server = StartServer("127.0.0.1:0");
        const std::string& target = server->addresses()[0];
        return InChild([&] { return UseStream(MakeClient(target).get()); });
      }),
      kFailedPrecondition);
}

TEST(Environment, NoProxyBetweenLocalEnds) {
  const ServerProcess server;
  EXPECT_EQ(InChild([&] {
              // Nobody listens there.
              setenv("http_proxy", "http://127.0.0.1:9", /*overwrite=*/1);
              unsetenv("no_proxy");
              return UseStream(MakeClient(server.target()).get());
            }),
            kOk);
}

}  // namespace
}  // namespace packhouse
