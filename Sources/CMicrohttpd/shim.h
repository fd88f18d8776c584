// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>

// Functions with a variable number of arguments are not visible in Swift; these are the calls that
// are needed of them.

/// Starts a daemon that listens on 127.0.0.1 and nowhere else, with a thread for each connection.
///
/// Port 0 lets the system choose one. Returns NULL and leaves the reason in `errno` on failure.
static inline struct MHD_Daemon *batchwise_mhd_start_on_loopback(
    uint16_t port, unsigned int connection_limit, MHD_AccessHandlerCallback handler, void *context) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return MHD_start_daemon(
      MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION, port, NULL, NULL, handler, context,
      MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, connection_limit, MHD_OPTION_END);
}

/// Starts a daemon that listens on 127.0.0.1 and nowhere else, with one thread for all connections, which
/// can be suspended. It polls: with epoll, once all connections were taken, some versions accept none for as
/// long as the timeout of connections even when all are closed.
///
/// Port 0 lets the system choose one. `completed` is told of the end of every request that the handler has
/// seen. Returns NULL and leaves the reason in `errno` on failure.
static inline struct MHD_Daemon *batchwise_mhd_start_suspendable(
    uint16_t port, unsigned int connection_limit, MHD_AccessHandlerCallback handler,
    MHD_RequestCompletedCallback completed, void *context) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return MHD_start_daemon(
      MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL,
      handler, context, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, connection_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, 15u, MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_END);
}

/// The port that the daemon listens on, or 0.
static inline uint16_t batchwise_mhd_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}
