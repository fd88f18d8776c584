// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CCurl
internal import Synchronization

// What libcurl calls a slot with while it works on its transfer.

extension TransferSlot {
  /// The slot that libcurl was given the address of.
  static func at(_ address: UnsafeMutableRawPointer) -> TransferSlot {
    Unmanaged<TransferSlot>.fromOpaque(address).takeUnretainedValue()
  }

  func setCallbacks() {
    let slot = Unmanaged.passUnretained(self).toOpaque()
    ccurl_set_pointer(easy, CURLOPT_PRIVATE, slot)
    ccurl_set_write(easy, CURLOPT_HEADERFUNCTION, receiveHeadLine)
    ccurl_set_pointer(easy, CURLOPT_HEADERDATA, slot)
    ccurl_set_write(easy, CURLOPT_WRITEFUNCTION, receiveBody)
    ccurl_set_pointer(easy, CURLOPT_WRITEDATA, slot)
    ccurl_set_resolver_start(easy, willLookUp)
    ccurl_set_pointer(easy, CURLOPT_RESOLVER_START_DATA, slot)
    ccurl_set_prereq(easy, willSendRequest)
    ccurl_set_pointer(easy, CURLOPT_PREREQDATA, slot)
    loop.setSocketOptions(of: easy, slot: slot)
  }

  /// Reads a line of the head; returns whether the transfer goes on.
  fileprivate func receive(headLine line: UnsafeRawBufferPointer) -> Bool {
    hasHeard = true
    if isBudgeted { loop.spend(line.count) }
    switch head.read(line: line) {
    case .more: return true
    case .broken(let what): return end(with: .broken(what))
    case .head(let head):
      if isEndless(head) { return end(with: .endless) }
      framing = head.framing
      decision = handler?.receive(head: head) ?? .discard
      return decision == .accept || isShort(head.framing) || end(with: .enough)
    }
  }

  /// Passes on the next bytes of the body; returns whether the transfer goes on.
  fileprivate func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
    hasHeard = true
    if isBudgeted { loop.spend(bytes.count) }
    received += Int64(bytes.count)
    if !head.isComplete { return end(with: .broken("it has a body before its head is over")) }
    switch decision {
    case .accept where handler?.receive(body: bytes) != true: return end(with: .refused)
    case .discard where received > Self.discardedBytes: return end(with: .enough)
    default: break
    }
    return !isBudgeted || payDebt()
  }

  /// Whether it is worth while to read past a body that nobody wants.
  private func isShort(_ framing: BodyFraming) -> Bool {
    switch framing {
    case .length(let count): count <= Self.discardedBytes
    case .chunked: true
    case .untilClose: head.isFramed
    }
  }

  /// libcurl asks for numbers in the same way, and answers itself.
  fileprivate func noteResolver() {
    hasLookedUp = true
    if LookupName.of(url) != nil { loop.lookupCount.add(1, ordering: .relaxed) }
  }

  /// Tells the loop, if this slot has its host's turn, that there is a socket or a connection now,
  /// and so no lookup before it.
  func noteLookup() {
    if case .leading = lookup { loop.lookedUp.append(self) }
  }

  /// Rests for what was read; returns whether the transfer may go on after that.
  private func payDebt() -> Bool {
    loop.payDebt()
    // libcurl would notice only when it has read all that it can.
    return !isLate || end(with: .late)
  }

  private func end(with reason: Stop) -> Bool {
    stop = reason
    leaveEarly()
    return false
  }
}

private func receiveHeadLine(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ slot: UnsafeMutableRawPointer?
) -> Int {
  guard let slot else { return 0 }
  let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
  let goesOn = TransferSlot.at(slot).receive(headLine: line)
  return goesOn ? line.count : 0
}

private func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ slot: UnsafeMutableRawPointer?
) -> Int {
  guard let slot else { return 0 }
  let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
  if body.isEmpty { return 0 }
  let goesOn = TransferSlot.at(slot).receive(body: body)
  return goesOn ? body.count : 0
}

/// libcurl is about to look a name up that its cache does not know.
private func willLookUp(
  _ resolver: UnsafeMutableRawPointer?, _ reserved: UnsafeMutableRawPointer?,
  _ slot: UnsafeMutableRawPointer?
) -> CInt {
  if let slot { TransferSlot.at(slot).noteResolver() }
  return 0
}

/// libcurl has a connection for the transfer, an old one or a new one.
private func willSendRequest(
  _ slot: UnsafeMutableRawPointer?, _ peer: UnsafeMutablePointer<CChar>?,
  _ own: UnsafeMutablePointer<CChar>?, _ peerPort: CInt, _ ownPort: CInt
) -> CInt {
  if let slot {
    TransferSlot.at(slot).noteLookup()
  }
  return CURL_PREREQFUNC_OK
}
