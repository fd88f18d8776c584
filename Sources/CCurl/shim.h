// SPDX-License-Identifier: Apache-2.0
//
// What Swift cannot call or read by itself: libcurl's variadic functions, one function here for
// each type of argument; a union; and flags that are imported differently from C library to C
// library. _GNU_SOURCE must stay undefined: with it, system types would differ from those of
// Swift's own module of the C library.
#pragma once

#include <curl/curl.h>
#include <sys/socket.h>
#include <time.h>

static const int ccurl_sock_stream = SOCK_STREAM;

// The functions' names stand in brackets because <curl/curl.h> also defines them as macros.

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
  return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_write(CURL *easy, CURLoption option, curl_write_callback value) {
  return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode ccurl_set_opensocket(CURL *easy, curl_opensocket_callback value) {
  return (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode ccurl_set_closesocket(CURL *easy, curl_closesocket_callback value) {
  return (curl_easy_setopt)(easy, CURLOPT_CLOSESOCKETFUNCTION, value);
}

static inline CURLcode ccurl_set_prereq(CURL *easy, curl_prereq_callback value) {
  return (curl_easy_setopt)(easy, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode ccurl_set_resolver_start(
    CURL *easy, curl_resolver_start_callback value) {
  return (curl_easy_setopt)(easy, CURLOPT_RESOLVER_START_FUNCTION, value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return (curl_multi_setopt)(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return (curl_multi_setopt)(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_socket(CURLM *multi, curl_socket_callback value) {
  return (curl_multi_setopt)(multi, CURLMOPT_SOCKETFUNCTION, value);
}

static inline CURLMcode ccurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback value) {
  return (curl_multi_setopt)(multi, CURLMOPT_TIMERFUNCTION, value);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
  return (curl_easy_getinfo)(easy, info, value);
}

static inline CURLcode ccurl_get_off_t(CURL *easy, CURLINFO info, curl_off_t *value) {
  return (curl_easy_getinfo)(easy, info, value);
}

static inline void *ccurl_get_private(CURL *easy) {
  char *value = NULL;
  (curl_easy_getinfo)(easy, CURLINFO_PRIVATE, &value);
  return value;
}

// How the transfer that a CURLMSG_DONE message speaks of has ended.
static inline CURLcode ccurl_message_result(const CURLMsg *message) {
  return message->data.result;
}

static inline CURLcode ccurl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>

static const uint32_t ccurl_epoll_in = EPOLLIN;
static const uint32_t ccurl_epoll_out = EPOLLOUT;
static const int ccurl_epoll_cloexec = EPOLL_CLOEXEC;
static const int ccurl_eventfd_flags = EFD_CLOEXEC | EFD_NONBLOCK;
#endif
