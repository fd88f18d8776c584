// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CCurl

// A transfer's way through the loop: begun, perhaps waiting for a lookup, with libcurl, ended.

extension CurlLoop {
  /// How many connections may be kept besides one for each transfer in flight.
  private static let spareConnections = 64

  func begin(_ transfer: Transfer) {
    let key = ObjectIdentifier(transfer.handler)
    precondition(running[key] == nil, "a handler serves one transfer at a time")
    guard let slot = spare.popLast() ?? makeSlot() else {
      return transfer.handler.finish(.failed(.outOfMemory(for: transfer.url)))
    }
    running[key] = slot
    if let failure = slot.prepare(transfer, buffers: buffers) {
      release(slot, telling: .failed(failure))
    } else {
      enter(slot, of: key)
    }
  }

  func cancel(_ handler: any TransferHandler) {
    guard let slot = running[ObjectIdentifier(handler)] else { return }
    slot.leaveEarly()
    remove(slot, telling: .cancelled)
  }

  func finish(_ slot: TransferSlot, after result: CURLcode) {
    guard let handler = slot.handler else { return }
    if slot.mustBeginAgain(after: result) {
      curl_multi_remove_handle(multi, slot.easy)
      enter(slot, of: ObjectIdentifier(handler))
    } else {
      remove(slot, telling: slot.end(after: result))
    }
  }

  func remove(_ slot: TransferSlot, telling end: TransferEnd) {
    if !slot.isWaiting { curl_multi_remove_handle(multi, slot.easy) }
    release(slot, telling: end)
  }

  /// Gives a slot to libcurl, or lets it wait until its host is looked up.
  private func enter(_ slot: TransferSlot, of key: ObjectIdentifier) {
    let (turn, host) = lookups.turn(of: key, to: slot.url, slot.scheme, at: now)
    switch turn {
    case .go: slot.lookup = .none
    case .lookUp: slot.lookup = .leading(host)
    case .wait: slot.lookup = .waiting(host)
    }
    if turn != .wait { add(slot) }
  }

  private func add(_ slot: TransferSlot) {
    slot.markBeginning()
    if curl_multi_add_handle(multi, slot.easy) != CURLM_OK {
      release(slot, telling: .failed(.outOfMemory(for: slot.url)))
    }
  }

  /// Everything is settled before the handler hears of it, so that it may start and cancel.
  private func release(_ slot: TransferSlot, telling end: TransferEnd) {
    let lookup = slot.lookup
    guard let handler = slot.clear() else { return }
    let key = ObjectIdentifier(handler)
    running[key] = nil
    spare.append(slot)
    handler.finish(end)
    switch lookup {
    case .none: break
    case .waiting(let host): lookups.state.withdraw(key, from: host)
    case .leading(let host):
      if let failure = end.failureOfLookup {
        follow(lookups.state.failed(host), failing: failure)
      } else {
        follow(lookups.state.passed(host))
      }
    }
  }

  private func makeSlot() -> TransferSlot? {
    guard let slot = TransferSlot(loop: self, settings: settings) else { return nil }
    slotCount += 1
    shareBuffers()
    ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, slotCount + Self.spareConnections)
    return slot
  }
}

// MARK: Lookups

extension CurlLoop {
  func endLookups() {
    let slots = lookedUp
    lookedUp = []
    for slot in slots {
      // Most have two reasons to be here, and some have ended meanwhile.
      guard case .leading(let host) = slot.lookup else { continue }
      slot.lookup = .none
      follow(
        slot.hasLookedUp ? lookups.state.found(host, at: now) : lookups.state.passed(host))
    }
  }

  private func follow(
    _ outcome: LookupState<ObjectIdentifier>.Outcome, failing failure: DownloadFailure? = nil
  ) {
    for key in outcome.go { goOn(key, .none) }
    for leader in outcome.lookUp { goOn(leader.waiter, .leading(leader.host)) }
    guard let failure else { return }
    for key in outcome.fail {
      guard let slot = running[key] else { continue }
      slot.lookup = .none
      release(slot, telling: .failed(failure))
    }
  }

  private func goOn(_ key: ObjectIdentifier, _ lookup: TransferSlot.Lookup) {
    guard let slot = running[key] else { return }
    slot.lookup = lookup
    add(slot)
  }
}

extension TransferEnd {
  /// Why a lookup failed, if this is how the transfer ended that made it.
  ///
  /// An address that cannot be read is that transfer's own fault.
  fileprivate var failureOfLookup: DownloadFailure? {
    guard case .failed(let failure) = self, failure.reason != .badURL else { return nil }
    return failure
  }
}
