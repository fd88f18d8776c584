// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("A bandwidth", .timeLimit(.minutes(1)))
struct BandwidthTests {
  @Test("is owed for what was read, to the byte")
  func budget() {
    var budget = ByteBudget(rate: 1000, at: .zero)
    #expect(budget.debt(at: .zero) == nil)
    budget.spend(500, at: .zero)
    #expect(budget.debt(at: .zero) == .milliseconds(500))
    budget.spend(250, at: .milliseconds(100))
    #expect(budget.debt(at: .milliseconds(100)) == .milliseconds(650))
    #expect(budget.debt(at: .milliseconds(749)) == .milliseconds(1))
    #expect(budget.debt(at: .milliseconds(750)) == nil)
  }

  @Test("of thirds loses nothing to rounding")
  func exact() {
    var budget = ByteBudget(rate: 3, at: .zero)
    for _ in 0..<3000 { budget.spend(1, at: .zero) }
    let debt = budget.debt(at: .zero) ?? .zero
    #expect(debt > .milliseconds(999_999) && debt <= .seconds(1000))
  }

  @Test("is not saved up by those who use none")
  func idle() {
    var budget = ByteBudget(rate: 1000, at: .zero)
    budget.spend(100, at: .seconds(3600))
    #expect(budget.debt(at: .seconds(3600)) == .milliseconds(50))
  }

  @Test("is kept over any time by a loop that reads when it owes nothing")
  func series() {
    for rate in [1, 999, 65_536, 1_000_000_007] {
      var budget = ByteBudget(rate: rate, at: .zero)
      let buffer = budget.buffer(within: 1024...16384)
      var now = Duration.zero
      var bytes = 0
      for round in 0..<1000 {
        if let debt = budget.debt(at: now) { now += debt }
        // Late at times, as a busy machine makes it.
        if round % 7 == 0 { now += .milliseconds(3) }
        budget.spend(buffer, at: now)
        bytes += buffer
        let most = Double(rate) * ((now + ByteBudget.memory) / .seconds(1)) + Double(buffer)
        #expect(Double(bytes) <= most + 1)
      }
      let least = Double(rate) * (now / .seconds(1)) * 0.97
      if rate == 65_536 { #expect(Double(bytes) >= least) }
    }
  }

  @Test("needs small buffers when it is small")
  func buffers() {
    func buffer(_ rate: Int) -> Int {
      ByteBudget(rate: rate, at: .zero).buffer(within: 1024...16384)
    }
    #expect(buffer(1) == 1024)
    #expect(buffer(1_000_000) == 5000)
    #expect(buffer(1 << 30) == 16384)
  }

  @Test("is not exceeded by many transfers together", arguments: CurlTransport.Driver.allCases)
  func many(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    origin.onEverythingElse(.ok([UInt8](repeating: 7, count: 100_000)))
    let rate = 400_000
    let transport = try CurlTransport(.init(bandwidth: rate), driver: driver)
    let start = ContinuousClock.now
    let result = await Batch(
      (0..<8).map { origin.url("/\($0)") }, transport: transport
    ).run(limit: 4)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    #expect(result.ends.allSatisfy { $0 == .complete })
    let bytes = result.bodies.reduce(0) { $0 + $1.count }
    #expect(bytes == 800_000)
    // What is remembered, what is too little to rest for, and a last buffer.
    let more = Double(rate) * 0.052 + 2000
    #expect(Double(bytes) <= Double(rate) * seconds + more)
    withExtendedLifetime(transport) {}
  }

  @Test(
    "changes no byte, however the bodies come", arguments: CurlTransport.Driver.allCases,
    [CurlTransport.HTTPVersion.http1_1, .http2])
  func everyKind(
    _ driver: CurlTransport.Driver, _ version: CurlTransport.HTTPVersion
  ) async throws {
    let options = CurlTransport.Options(
      isInsecure: true, httpVersion: version, bandwidth: 4_000_000)
    let transport = try CurlTransport(options, driver: driver)
    try await MixedBodies(count: 24, step: 7001).expectAll(over: transport)
    withExtendedLifetime(transport) {}
  }

  @Test(
    "leaves connections that are not read from alone when others begin",
    arguments: CurlTransport.Driver.allCases)
  func beginning(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    let long = [UInt8](repeating: 7, count: 60_000)
    origin.on("/long", .ok(long))
    origin.on("/short", .ok("short"))
    let transport = try CurlTransport(.init(bandwidth: 100_000), driver: driver)
    let longOnes = (0..<3).map { _ in Recorder() }
    transport.start(longOnes.map { Transfer(url: origin.url("/long"), handler: $0) })
    // Commands come in one after the other while the loop owes for most of the time.
    for _ in 0..<40 {
      #expect(await transport.fetch(origin.url("/short")).body == "short")
    }
    for recorder in longOnes {
      let answer = await recorder.answer
      let isSame = answer.bytes == long
      #expect(isSame)
      #expect(answer.end == .complete)
    }
  }

  @Test("lets commands through while it rests", arguments: CurlTransport.Driver.allCases)
  func commands(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    origin.onEverythingElse(.ok([UInt8](repeating: 7, count: 1_000_000)))
    // One buffer is owed for seventeen minutes.
    let transport = try CurlTransport(.init(bandwidth: 1), driver: driver)
    let (hasBegun, begun) = AsyncStream.makeStream(of: Void.self)
    let recorder = Recorder(onBody: { _ in
      begun.yield()
      return true
    })
    transport.start([Transfer(url: origin.url(), handler: recorder)])
    for await _ in hasBegun { break }
    transport.cancel(recorder)
    #expect(await recorder.answer.end == .cancelled)
    #expect(await transport.fetch("nonsense").end?.reason == .badURL)
    #expect(transport.rounds < 50)
  }

  @Test(
    "does not make silence of what it does not read", arguments: [CurlTransport.Driver.preferred])
  func silence(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    origin.onEverythingElse(.ok([UInt8](repeating: 7, count: 900)))
    let transport = try CurlTransport(.init(bandwidth: 1000), driver: driver)
    // Each of them waits for longer than its idle timeout until it has its turn.
    let recorders = (0..<4).map { _ in Recorder() }
    transport.start(
      recorders.map {
        Transfer(
          url: origin.url(), timeouts: TransferTimeouts(idle: .seconds(1)), handler: $0)
      })
    for recorder in recorders { #expect(await recorder.answer.end == .complete) }
  }

  @Test(
    "does not hold up the time that a transfer may take", arguments: CurlTransport.Driver.allCases)
  func total(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    origin.onEverythingElse(.ok([UInt8](repeating: 7, count: 100_000)))
    let transport = try CurlTransport(.init(bandwidth: 1000), driver: driver)
    let answer = await transport.fetch(
      origin.url(), timeouts: TransferTimeouts(total: .milliseconds(400)))
    #expect(answer.end?.reason == .timeout)
  }
}
