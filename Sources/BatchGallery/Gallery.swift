// SPDX-License-Identifier: Apache-2.0

package import BatchwiseDownload
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A batch as a page in the browser of this machine: pictures as they arrive, and what steers the batch.
///
///     let gallery = try Gallery(of: live, run: run, folder: folder, port: 0)
///     print(gallery.address)
///     await gallery.follow()  // until its task is cancelled
///
/// It listens on 127.0.0.1 alone. Its address holds a random token, and who does not know it is told
/// nothing. The page is told that something has changed, at most ten times a second, and then asks for the
/// rows that it shows; so it costs the same for ten rows as for a hundred thousand.
package final class Gallery: Sendable {
  /// The address of the page, for the eyes of whoever may look.
  package var address: String { "http://127.0.0.1:\(server.port)/\(desk.token)/" }

  private let desk: Desk
  private let server: LoopbackServer

  /// Opens the page, and starts nothing of the batch.
  ///
  /// - Parameters:
  ///   - live: The batch.
  ///   - run: What runs it.
  ///   - folder: Where its files are.
  ///   - port: The port to listen on; 0 lets the system choose one.
  /// - Throws: ``CannotServe`` if the port cannot be had.
  package init(
    of live: LiveBatch, run: DownloadRun, folder: OutputFolder, port: UInt16
  ) throws(CannotServe) {
    var random = SystemRandomNumberGenerator()
    let token = (0..<2).map { _ in String(random.next() | 1 << 63, radix: 16) }.joined()
    let desk = Desk(live: live, run: run, folder: folder, token: token)
    do throws(SystemError) {
      server = try LoopbackServer(port: port, refuse: { [desk] in desk.refusal(of: $0) }) {
        [desk] in
        desk.answer($0)
      }
    } catch {
      throw CannotServe(port: port, cause: "\(error)")
    }
    self.desk = desk
    desk.port.store(server.port, ordering: .sequentiallyConsistent)
  }

  /// Why there is no page.
  package struct CannotServe: Error {
    /// The port that was asked for; 0 for any.
    package let port: UInt16
    /// What the system says.
    package let cause: String
  }

  /// How long nothing is told while nothing happens; a reader who has gone away is noticed then.
  private static let heartbeat = Duration.seconds(15)

  /// Tells pages what happens, until the task is cancelled.
  ///
  /// While nothing happens it sleeps.
  package func follow() async {
    while !Task.isCancelled {
      let counts = desk.live.counts
      if server.readers > 0 {
        // The same again is a sign of life.
        server.publish(desk.message)
      }
      try? await Task.sleep(for: .milliseconds(100))
      if desk.run.status.inFlight == 0 {
        await desk.live.waitForChange(since: counts.version, atMost: Self.heartbeat)
      }
    }
  }

  /// Closes the page; stopping twice does no harm.
  package func stop() { server.stop() }

  /// The run has ended, and nothing will happen any more.
  package func runEnded() {
    desk.isOver.store(true, ordering: .sequentiallyConsistent)
    server.publish(desk.message)
  }
}

/// What answers a page.
private final class Desk: Sendable {
  let live: LiveBatch
  let run: DownloadRun
  let folder: OutputFolder
  let token: String
  let port = Atomic<UInt16>(0)
  let isOver = Atomic(false)

  init(live: LiveBatch, run: DownloadRun, folder: OutputFolder, token: String) {
    self.live = live
    self.run = run
    self.folder = folder
    self.token = token
  }

  /// The most transfers that a page is told of one by one.
  private static let mostTransfers = 24

  /// What all pages are told at this moment.
  var message: [UInt8] {
    let transfers = run.slowestTransfers(atMost: Self.mostTransfers).compactMap { transfer in
      live.row(ofItem: transfer.id).map { row in
        GalleryStatus.Transfer(
          row: row, name: transfer.name, received: transfer.received, total: transfer.total,
          seconds: transfer.duration / .seconds(1))
      }
    }
    let status = GalleryStatus(
      live.counts, run.status, isOver: isOver.load(ordering: .sequentiallyConsistent),
      transfers: transfers)
    return Array("data: ".utf8) + status.json + Array("\n\n".utf8)
  }

  /// The answer to a request that is not granted, whatever its body is.
  func refusal(of request: PageRequest) -> PageAnswer? {
    do throws(GalleryRefusal) {
      let port = port.load(ordering: .sequentiallyConsistent)
      _ = try GalleryRequest.path(of: request, token: token, port: port)
      return nil
    } catch {
      return error.answer
    }
  }

  func answer(_ request: PageRequest) -> PageAnswer {
    do throws(GalleryRefusal) {
      let port = port.load(ordering: .sequentiallyConsistent)
      return try answer(GalleryRequest(request, token: token, port: port))
    } catch {
      return error.answer
    }
  }

  private func answer(_ request: GalleryRequest) throws(GalleryRefusal) -> PageAnswer {
    switch request {
    case .page: return GalleryPage.answer()
    case .events:
      return PageAnswer(
        200, [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")],
        .stream(first: { [self] in message }))
    case .rows(let window):
      return PageAnswer(200, type: "application/json", GalleryRows(live, window).json)
    case .file(let row): return try file(of: row)
    case .start:
      run.resume()
      live.start()
    case .pause: run.pause()
    case .resume: run.resume()
    case .cancel: live.cancel(in: run)
    case .retryFailed: _ = live.retryFailed()
    case .retry(let row):
      guard live.retry(row) else {
        throw GalleryRefusal(status: 409, message: "Only what has failed can be tried again")
      }
    case .limit(let limit): run.setLimit(limit)
    case .add(let text):
      let items = WorkItem.typed(text)
      live.add(items)
      return PageAnswer(200, type: "application/json", Added(added: items.count).json)
    }
    live.noteChange()
    return PageAnswer(204, [], .bytes([]))
  }

  private struct Added: Encodable {
    var added: Int
  }

  /// A row's file: drawn if it is a picture, else kept; never run, never shown as a page.
  private func file(of row: Int) throws(GalleryRefusal) -> PageAnswer {
    guard let path = live.row(row)?.file, let file = folder.openSaved(path) else {
      throw GalleryRefusal(status: 404, message: "There is no such file (any more)")
    }
    var fields = [
      ("Content-Type", file.pictureType ?? "application/octet-stream"),
      ("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'"),
      ("Cache-Control", "private, no-cache"),
    ]
    if file.pictureType == nil { fields.append(("Content-Disposition", "attachment")) }
    return PageAnswer(200, fields, .file(descriptor: file.descriptor, size: file.size))
  }
}

extension GalleryRefusal {
  fileprivate var answer: PageAnswer {
    PageAnswer(status, type: "text/plain; charset=utf-8", Array("\(message)\n".utf8))
  }
}
