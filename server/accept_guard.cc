// Keeps packhoused listening when it runs out of file descriptors.
//
// gRPC 1.51 stops listening on a socket for good when accept4 fails there with
// anything but EAGAIN, and a full descriptor table makes it fail. So the
// program brings an accept4 of its own, which the dynamic linker prefers to the
// C library's: where there is no descriptor for a connection, it takes the
// connection with one kept for this and closes it, so that the client hears at
// once that it has to try again, and reports that there is nothing to accept.

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

namespace {

class Reserve {
 public:
  Reserve() { Fill(); }

  // Closes the connections that wait at `listener`.
  void TurnAway(int listener) {
    const std::lock_guard<std::mutex> lock(mutex_);
    bool found = true;
    // Another thread may take what is given up here; then the next call goes
    // on.
    while (found && Fill()) {
      close(fd_);
      fd_ = -1;
      const long connection =
          syscall(SYS_accept4, listener, nullptr, nullptr, SOCK_CLOEXEC);
      found = connection >= 0;
      if (found) close(static_cast<int>(connection));
    }
    Fill();
  }

 private:
  bool Fill() {
    if (fd_ < 0) fd_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd_ >= 0;
  }

  std::mutex mutex_;
  int fd_ = -1;
};

Reserve& TheReserve() {
  static auto* const reserve = new Reserve;  // outlives all threads
  return *reserve;
}

}  // namespace

extern "C" int accept4(int listener, sockaddr* address, socklen_t* size,
                       int flags) {
  Reserve& reserve = TheReserve();
  const long connection = syscall(SYS_accept4, listener, address, size, flags);
  if (connection < 0 && (errno == EMFILE || errno == ENFILE)) {
    reserve.TurnAway(listener);
    errno = EAGAIN;
  }
  return static_cast<int>(connection);
}
