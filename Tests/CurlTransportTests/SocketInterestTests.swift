// SPDX-License-Identifier: Apache-2.0

import CurlTransport
import Testing

@Suite("The interest in sockets", .timeLimit(.minutes(1)))
struct SocketInterestTests {
  private let input: UInt32 = 1
  private let output: UInt32 = 4

  @Test("in a connection survives the end of a transfer")
  func connection() {
    var interest = SocketInterest()
    #expect(interest.open(7, watching: input) == .add(input))
    #expect(interest.want(output, of: 7) == .modify(output))
    #expect(interest.want(input, of: 7) == .modify(input))
    #expect(interest.want(0, of: 7) == nil)
    #expect(interest.wanted(of: 7) == 0)
    #expect(interest.want(input, of: 7) == nil, "the kernel is watching already")
    #expect(interest.want(input | output, of: 7) == .modify(input | output))
  }

  @Test("in anything else ends when nothing is wanted of it")
  func other() {
    var interest = SocketInterest()
    #expect(interest.want(input, of: 9) == .add(input))
    #expect(interest.want(0, of: 9) == .remove)
    #expect(interest.want(0, of: 9) == nil)
    #expect(interest.want(input, of: 9) == .add(input), "the number may be another descriptor's")
  }

  @Test("forgets a connection that was closed")
  func closing() {
    var interest = SocketInterest()
    _ = interest.open(7, watching: input)
    _ = interest.want(input, of: 7)
    interest.close(7)
    #expect(!interest.isConnection(7))
    #expect(interest.want(input, of: 7) == .add(input))
    #expect(interest.want(0, of: 7) == .remove)
  }

  @Test("in an idle connection that will not be silent can be given up")
  func givingUp() {
    var interest = SocketInterest()
    _ = interest.open(7, watching: input)
    _ = interest.want(input, of: 7)
    _ = interest.want(0, of: 7)
    #expect(interest.stopWatching(7) == .remove)
    #expect(interest.stopWatching(7) == nil)
    #expect(interest.want(input, of: 7) == .add(input))
  }

  @Test("starts again after a descriptor was led elsewhere")
  func replacing() {
    var interest = SocketInterest()
    _ = interest.open(7, watching: input)
    _ = interest.want(input, of: 7)
    interest.replace(7)
    #expect(interest.isConnection(7))
    #expect(interest.stopWatching(7) == nil)
    #expect(interest.want(input, of: 7) == .add(input))
  }

  @Test("in a descriptor never heard of is none")
  func unknown() {
    var interest = SocketInterest()
    #expect(interest.wanted(of: 1000) == 0)
    #expect(!interest.isConnection(1000))
    #expect(interest.want(0, of: 1000) == nil)
  }
}
