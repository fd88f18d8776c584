// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  internal import CCurl

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Waits with epoll and tells libcurl which sockets are ready, so that a round costs what is
  /// ready and not what is in flight.
  ///
  /// Level-triggered, because libcurl does not promise to read a socket empty.
  final class EpollDriver: LoopDriver {
    private let multi: UnsafeMutableRawPointer
    private let epoll: Descriptor
    private let bell: Descriptor
    private let deadEnd: DeadEnd
    private var interest = SocketInterest()
    private var timer = Timer.off

    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 256)
    private var readyCount = 0

    private enum Timer {
      case off
      case due
      case at(ContinuousClock.Instant)
    }

    init(multi: UnsafeMutableRawPointer) throws(CurlTransportError) {
      self.multi = multi
      epoll = try Descriptor(epoll_create1(ccurl_epoll_cloexec), of: "epoll_create1")
      bell = try Descriptor(eventfd(0, ccurl_eventfd_flags), of: "eventfd")
      deadEnd = try DeadEnd()
      tellKernel(.add(ccurl_epoll_in), of: bell.number)
      let driver = Unmanaged.passUnretained(self).toOpaque()
      ccurl_multi_set_socket(multi, socketWish)
      ccurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, driver)
      ccurl_multi_set_timer(multi, timerWish)
      ccurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, driver)
    }

    deinit { events.deallocate() }

    func makeBell() -> @Sendable () -> Void {
      let number = bell.number
      return {
        var one: UInt64 = 1
        _ = write(number, &one, MemoryLayout.size(ofValue: one))
      }
    }

    func wait(atMost limit: Duration?) {
      var timeout = limit?.millisecondsRoundedUp ?? -1
      if let timer = timeToTimer?.millisecondsRoundedUp {
        timeout = timeout < 0 ? timer : min(timeout, timer)
      }
      collectReady(timeout)
    }

    var timeToTimer: Duration? {
      switch timer {
      case .off: nil
      case .due: .zero
      case .at(let instant): max(.zero, instant - .now)
      }
    }

    func rest(atMost limit: Duration) -> Bool {
      var descriptor = pollfd(fd: bell.number, events: Int16(POLLIN), revents: 0)
      let isRung = poll(&descriptor, 1, limit.millisecondsRoundedUp) > 0
      if isRung { silence() }
      return !isRung
    }

    func dropUnfitConnections() {
      collectReady(0)
      let collected = readyCount
      readyCount = 0
      for index in 0..<collected {
        let descriptor = events[index].data.fd
        if interest.isConnection(descriptor) && interest.wanted(of: descriptor) == 0 {
          handleIdle(descriptor)
        } else {
          events[readyCount] = events[index]
          readyCount += 1
        }
      }
    }

    func perform(while mayRead: () -> Bool) {
      for index in 0..<readyCount {
        // What is left is found ready again, behind what was not looked at before.
        if !mayRead() { break }
        handle(events[index])
      }
      readyCount = 0
      if isTimerDue {
        timer = .off
        act(on: CURL_SOCKET_TIMEOUT, 0)
      }
    }

    func didOpen(_ socket: curl_socket_t) {
      // From now on, since an answer may be quick enough to come before libcurl waits for it.
      tellKernel(interest.open(socket, watching: ccurl_epoll_in), of: socket)
    }

    func willClose(_ socket: curl_socket_t) { interest.close(socket) }
  }

  extension EpollDriver {
    private func handle(_ event: epoll_event) {
      let descriptor = event.data.fd
      if descriptor == bell.number { return silence() }
      let wanted = interest.wanted(of: descriptor)
      if wanted == 0 { return handleIdle(descriptor) }
      // After an error or a hang-up libcurl shall do what it wanted to do, and see for itself.
      let ready = event.events & (ccurl_epoll_in | ccurl_epoll_out)
      let mask = ready == event.events ? ready : ready | wanted
      act(
        on: descriptor,
        (mask & ccurl_epoll_in != 0 ? CURL_CSELECT_IN : 0)
          | (mask & ccurl_epoll_out != 0 ? CURL_CSELECT_OUT : 0))
    }

    private func silence() {
      var rings: UInt64 = 0
      _ = read(bell.number, &rings, MemoryLayout.size(ofValue: rings))
    }

    /// Sees to a pooled connection that is not silent.
    ///
    /// Whatever it has to say, it must not end every wait from now on.
    private func handleIdle(_ descriptor: CInt) {
      if interest.isConnection(descriptor), deadEnd.replace(ifNotSilent: descriptor) {
        interest.replace(descriptor)
      } else if let change = interest.stopWatching(descriptor) {
        tellKernel(change, of: descriptor)
      }
    }

    private func collectReady(_ timeout: CInt) {
      let count = epoll_wait(epoll.number, events.baseAddress, CInt(events.count), timeout)
      readyCount = Int(max(0, count))
    }

    private func act(on socket: curl_socket_t, _ mask: CInt) {
      var running: CInt = 0
      curl_multi_socket_action(multi, socket, mask, &running)
    }

    private var isTimerDue: Bool {
      switch timer {
      case .off: false
      case .due: true
      case .at(let instant): instant <= .now
      }
    }

    /// libcurl says what it wants to know of a socket from now on.
    fileprivate func want(_ events: UInt32, of descriptor: CInt) {
      if let change = interest.want(events, of: descriptor) {
        tellKernel(change, of: descriptor)
      }
    }

    /// libcurl says when it wants to be called, in milliseconds from now; never, if negative.
    fileprivate func setTimer(_ milliseconds: Int) {
      switch milliseconds {
      case ..<0: timer = .off
      case 0: timer = .due
      default: timer = .at(.now + .milliseconds(milliseconds))
      }
    }

    private func tellKernel(_ change: SocketInterest.Change, of descriptor: CInt) {
      switch change {
      case .add(let events):
        if control(EPOLL_CTL_ADD, descriptor, events) != 0 && errno == EEXIST {
          _ = control(EPOLL_CTL_MOD, descriptor, events)
        }
      case .modify(let events):
        if control(EPOLL_CTL_MOD, descriptor, events) != 0 && errno == ENOENT {
          _ = control(EPOLL_CTL_ADD, descriptor, events)
        }
      case .remove:
        _ = control(EPOLL_CTL_DEL, descriptor, 0)
      }
    }

    private func control(_ operation: CInt, _ descriptor: CInt, _ events: UInt32) -> CInt {
      var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
      return epoll_ctl(epoll.number, operation, descriptor, &event)
    }
  }

  private func socketWish(
    _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ wish: CInt,
    _ driver: UnsafeMutableRawPointer?, _ socketData: UnsafeMutableRawPointer?
  ) -> CInt {
    guard let driver else { return 0 }
    var events: UInt32 = 0
    if wish == CURL_POLL_IN || wish == CURL_POLL_INOUT { events |= ccurl_epoll_in }
    if wish == CURL_POLL_OUT || wish == CURL_POLL_INOUT { events |= ccurl_epoll_out }
    Unmanaged<EpollDriver>.fromOpaque(driver).takeUnretainedValue().want(events, of: socket)
    return 0
  }

  private func timerWish(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ driver: UnsafeMutableRawPointer?
  ) -> CInt {
    guard let driver else { return 0 }
    Unmanaged<EpollDriver>.fromOpaque(driver).takeUnretainedValue().setTimer(milliseconds)
    return 0
  }
#endif
