// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct SignalTests {
  @Test("Being raised before anybody waits is remembered")
  func remembered() async {
    let signal = Signal()
    signal.raise()
    await signal.wait()
  }

  @Test("Being raised twice before anybody waits is remembered once")
  func rememberedOnce() async {
    let signal = Signal()
    signal.raise()
    signal.raise()
    await signal.wait()
    let hasPassed = Watched(false)
    let second = Task {
      await signal.wait()
      hasPassed.update { $0 = true }
    }
    for _ in 0..<100 { await Task.yield() }
    #expect(!hasPassed.value)
    signal.raise()
    await second.value
  }

  @Test("A cancelled task does not wait, whether it is cancelled before or while it does")
  func cancellation() async {
    for yields in 0..<50 {
      let signal = Signal()
      let waiting = Task { await signal.waitUnlessCancelled() }
      for _ in 0..<yields { await Task.yield() }
      waiting.cancel()
      await waiting.value
    }
  }

  @Test("No raise is lost between one that raises and one that waits, at full speed")
  func pingPong() async {
    let ping = Signal()
    let pong = Signal()
    let count = 500
    async let answers: Void = {
      for _ in 0..<count {
        await ping.wait()
        pong.raise()
      }
    }()
    for _ in 0..<count {
      ping.raise()
      await pong.wait()
    }
    await answers
  }
}
