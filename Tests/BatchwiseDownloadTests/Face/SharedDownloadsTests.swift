// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite(.timeLimit(.minutes(1)))
struct SharedDownloadsTests {
  @Test("A thousand callers for ten addresses are ten transfers, and each gets its bytes")
  func thousand() async throws {
    let gate = Gate()
    let setting = try FaceSetting(options: .limited(to: 4)) { url in
      await gate.pass()
      return .file(url)
    }
    let downloader = setting.downloader
    let parked = Watched(0)
    let bodies = await withTaskGroup { group in
      for number in 0..<1000 {
        group.addTask {
          parked.update { $0 += 1 }
          return (number, try? await downloader.data(from: "http://h/\(number % 10)"))
        }
      }
      group.addTask {
        // All have asked before anything is answered, or nearly so.
        await parked.wait { $0 == 1000 }
        await setting.transport.record.wait { $0.inFlight == 4 }
        while downloader.shared.waiters < 1000 { await Task.yield() }
        gate.open()
        return (-1, nil)
      }
      var bodies: [Int: DownloadedBody] = [:]
      for await (number, body) in group { bodies[number] = body }
      return bodies
    }
    #expect(bodies.count == 1000)
    #expect(bodies.allSatisfy { $0.value.data == Data("http://h/\($0.key % 10)".utf8) })
    #expect(Set(setting.transport.record.value.urls).count == 10 && setting.requests == 10)
    #expect(setting.transport.record.value.peak == 4)
    #expect(downloader.shared.waiters == 0)
  }

  @Test("One waiter that goes away leaves the transfer to the others")
  func oneGoes() async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let downloader = setting.downloader
    let tasks = (0..<5).map { _ in Task { try await downloader.data(from: "http://h/a") } }
    while downloader.shared.waiters < 5 { await Task.yield() }
    tasks[0].cancel()
    tasks[3].cancel()
    #expect(await failure { try await tasks[0].value } is CancellationError)
    #expect(await failure { try await tasks[3].value } is CancellationError)
    #expect(setting.inFlight == 1)
    gate.open()
    for number in [1, 2, 4] {
      #expect(try await tasks[number].value.data == Data("http://h/a".utf8))
    }
    #expect(setting.requests == 1)
  }

  @Test("The last waiter to go away cancels the transfer and awaits it; who comes then begins anew")
  func allGo() async throws {
    let arrived = Watched(0)
    let setting = try FaceSetting { url in
      let number = arrived.update { arrived in
        arrived += 1
        return arrived
      }
      if number == 1 { try? await Task.sleep(for: .seconds(3600)) }
      return .file(url)
    }
    let downloader = setting.downloader
    let tasks = (0..<3).map { _ in Task { try await downloader.data(from: "http://h/a") } }
    while downloader.shared.waiters < 3 { await Task.yield() }
    await arrived.wait { $0 == 1 }
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await failure { try await task.value } is CancellationError) }
    #expect(setting.inFlight == 0)
    #expect(try await downloader.data(from: "http://h/a").data.count == 10)
    #expect(setting.requests == 2)
  }

  @Test("Whoever goes away before its turn is never asked for")
  func waitingGoes() async throws {
    let gate = Gate()
    let setting = try FaceSetting(options: .limited(to: 1)) { url in
      await gate.pass()
      return .file(url)
    }
    let downloader = setting.downloader
    let first = Task { try await downloader.data(from: "http://h/a") }
    await setting.transport.record.wait { $0.inFlight == 1 }
    let others = (0..<50).map { number in
      Task { try await downloader.data(from: "http://h/\(number)") }
    }
    while downloader.shared.waiters < 51 { await Task.yield() }
    for task in others.dropLast() { task.cancel() }
    for task in others.dropLast() {
      #expect(await failure { try await task.value } is CancellationError)
    }
    #expect(downloader.shared.status.waiting == 1)
    gate.open()
    #expect(try await first.value.data.count == 10)
    #expect(try await others[49].value.data.count == 11)
    #expect(setting.transport.record.value.urls == ["http://h/a", "http://h/49"])
    #expect(downloader.shared.status.inFlight == 0 && downloader.shared.status.waiting == 0)
  }

  @Test("Whoever goes away while its request pauses is not tried again")
  func pausingGoes() async throws {
    var options = DownloadOptions.limited(to: 1)
    options.retries = 1
    options.backoff = .constant(.seconds(3600))
    let setting = try FaceSetting(options: options) { _ in .status(500) }
    let downloader = setting.downloader
    let task = Task { try await downloader.data(from: "http://h/a") }
    while downloader.shared.status.waiting < 1 || setting.inFlight > 0 || setting.requests == 0 {
      await Task.yield()
    }
    task.cancel()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(downloader.shared.status.waiting == 0)
  }

  @Test("A caller that is cancelled already begins nothing")
  func alreadyCancelled() async throws {
    let setting = try FaceSetting { .file($0) }
    let gate = Gate()
    let task = Task {
      await gate.pass()
      return try await setting.downloader.data(from: "http://h/a")
    }
    task.cancel()
    gate.open()
    #expect(await failure { try await task.value } is CancellationError)
    #expect(setting.requests == 0)
  }

  @Test("A failure names its address, and all who wait get it")
  func failures() async throws {
    let setting = try FaceSetting { _ in .status(404) }
    let thrown = await failure { try await setting.downloader.data(from: "http://u:p@h/a") }
    let error = try #require(thrown as? DownloadFailure)
    #expect(error.status == 404 && error.url == "http://h/a")

    let flawed = await failure { try await setting.downloader.data(from: "no address") }
    #expect((flawed as? DownloadFailure)?.reason == .badURL)
    #expect((flawed as? DownloadFailure)?.url == "no address")
    let checked = await failure {
      try await setting.downloader.data(
        from: DownloadRequest("http://h/a", checksum: SumDigest.checksum(1)))
    }
    #expect((checked as? DownloadFailure)?.reason == .checksum)
  }

  @Test("What another caller asks for with other headers or another checksum is another transfer")
  func unequal() async throws {
    let gate = Gate()
    let setting = try FaceSetting { url in
      await gate.pass()
      return .file(url)
    }
    let downloader = setting.downloader
    let headers = try [#require(HeaderField("X-Key: a"))]
    async let plain = downloader.data(from: "http://h/a")
    async let secret = downloader.data(from: DownloadRequest("http://h/a", headers: headers))
    async let user = downloader.data(from: "http://u:p@h/a")
    await setting.transport.record.wait { $0.inFlight == 3 }
    gate.open()
    _ = try await (plain, secret, user)
    #expect(setting.requests == 3)
  }

  @Test("Bodies on their way keep to the room that there is, and a longer one fails")
  func room() async throws {
    let setting = try FaceSetting(options: .limited(to: 8), memory: 25) { url in
      url.hasSuffix("long") ? .file(String(repeating: "x", count: 26)) : .file("1234567890")
    }
    let downloader = setting.downloader
    let long = await failure { try await downloader.data(from: "http://h/long") }
    #expect((long as? DownloadFailure)?.reason == .tooLarge)
    let count = await withTaskGroup { group in
      for number in 0..<100 {
        group.addTask { (try? await downloader.data(from: "http://h/\(number)"))?.data.count ?? 0 }
      }
      return await group.reduce(0, +)
    }
    #expect(count == 1000)
    while downloader.shared.room?.taken != 0 { await Task.yield() }
  }

  @Test("One after the other is not held up by anything")
  func oneByOne() async throws {
    let setting = try FaceSetting { .file($0) }
    for number in 0..<200 {
      let body = try await setting.downloader.data(from: "http://h/\(number % 3)")
      #expect(body.data == Data("http://h/\(number % 3)".utf8))
    }
    #expect(setting.requests == 200)
  }

  @Test("Callers that come and go at random are all told, and nothing is left")
  func random() async throws {
    for seed in 0..<20 {
      let setting = try FaceSetting(options: .limited(to: 3), memory: 100) { url in
        for _ in 0..<(url.utf8.last.map { Int($0) % 5 } ?? 0) { await Task.yield() }
        return url.hasSuffix("3") ? .status(404) : .file(url)
      }
      let downloader = setting.downloader
      await withTaskGroup { group in
        for number in 0..<200 {
          group.addTask {
            let task = Task { try await downloader.data(from: "http://h/\(number % 7)") }
            if (number * 31 + seed) % 3 == 0 {
              for _ in 0..<(number + seed) % 7 { await Task.yield() }
              task.cancel()
            }
            switch await task.result {
            case .success(let body): #expect(body.data.count == 10)
            case .failure(let failure as DownloadFailure): #expect(failure.status == 404)
            case .failure(let error): #expect(error is CancellationError)
            }
          }
        }
      }
      #expect(downloader.shared.waiters == 0)
      #expect(setting.inFlight == 0)
      let status = downloader.shared.status
      #expect(status.inFlight == 0 && status.waiting == 0 && status.settling == 0)
      // Whoever has told the last caller lets go of its body just after that.
      while downloader.shared.room?.taken != 0 { await Task.yield() }
    }
  }
}
