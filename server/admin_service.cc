#include "server/admin_service.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/process_metrics.h"
#include "server/refusal.h"

namespace packhouse {
namespace {

constexpr int kMaxPageSize = 1000;

void DescribeLimits(const ServerOptions& options, v1::StreamLimits* limits) {
  limits->set_max_window_sequences(options.limits.max_window_sequences);
  limits->set_max_batch_sequences(options.limits.max_batch_sequences);
  limits->set_max_plan_sequences(options.max_plan_sequences);
  limits->set_credit_inputs(static_cast<int64_t>(options.limits.credit_inputs));
  limits->set_credit_sequences(
      static_cast<int64_t>(options.limits.credit_sequences));
  const bool ends = options.idle_timeout < absl::InfiniteDuration();
  limits->set_idle_timeout_seconds(
      ends ? absl::ToDoubleSeconds(options.idle_timeout) : 0);
}

void DescribeServer(const ServiceHost& host, v1::ServerStatus* server) {
  server->set_version(std::string(ServerVersion()));
  server->set_incarnation(host.incarnation);
  const timespec start = absl::ToTimespec(host.start_time);
  server->mutable_start_time()->set_seconds(start.tv_sec);
  server->mutable_start_time()->set_nanos(static_cast<int>(start.tv_nsec));
  server->set_pid(getpid());
  server->set_draining(host.streams.closed());
  server->set_cpu_seconds(ProcessCpuSeconds().value_or(0));
  server->set_resident_bytes(
      static_cast<int64_t>(ProcessResidentBytes().value_or(0)));
  DescribeLimits(host.options, server->mutable_limits());
  server->set_committed_bytes(static_cast<int64_t>(host.memory->committed()));
  server->set_max_memory_bytes(static_cast<int64_t>(host.memory->limit()));
  server->set_stream_count(static_cast<int64_t>(host.streams.size()));
  server->set_max_streams(static_cast<int64_t>(host.streams.max_streams()));
  const WorkPool::Load load = host.pool->load();
  server->set_packing_threads(load.threads);
  server->set_busy_packing_threads(load.busy);
  server->set_queued_jobs(static_cast<int64_t>(load.queued));
}

}  // namespace

grpc::ServerUnaryReactor* AdminServiceImpl::GetStatus(
    grpc::CallbackServerContext* context, const v1::GetStatusRequest* request,
    v1::GetStatusResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  // A token is the number of the last stream that was shown.
  const std::string& token = request->page_token();
  uint64_t last = 0;
  if (!token.empty() && !absl::SimpleAtoi(token, &last)) {
    reactor->Finish(ToGrpc(absl::InvalidArgumentError(
        "the page token is none that this server gave")));
    return reactor;
  }
  if (request->page_size() < 0) {
    reactor->Finish(ToGrpc(absl::InvalidArgumentError(absl::StrCat(
        "page_size is ", request->page_size(), ", must be at least 0"))));
    return reactor;
  }
  const int page_size = request->page_size() > 0
                            ? std::min(request->page_size(), kMaxPageSize)
                            : kMaxPageSize;
  DescribeServer(*host_, response->mutable_server());
  const absl::Time now = absl::Now();
  host_->streams.ForEach(last, [&](uint64_t number, const OpenStream& stream) {
    if (response->streams_size() == page_size) {
      response->set_next_page_token(absl::StrCat(last));
      return false;
    }
    stream.Describe(now, response->add_streams());
    last = number;
    return true;
  });
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace packhouse
