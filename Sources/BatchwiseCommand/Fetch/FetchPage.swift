// SPDX-License-Identifier: Apache-2.0

internal import BatchGallery
internal import BatchwiseDownload

/// The page that shows a run, and the batch behind it.
struct FetchPage {
  let live: LiveBatch
  private let gallery: Gallery

  /// Opens the page, whose run must not have begun.
  init(
    _ options: FetchOptions.Page, of run: DownloadRun, in folder: OutputFolder
  ) throws(Refusal) {
    live = LiveBatch()
    do throws(Gallery.CannotServe) {
      gallery = try Gallery(of: live, run: run, folder: folder, port: options.port)
    } catch {
      throw Refusal(.usage, of: "--port", "\(error.port)", error.cause)
    }
    if options.startsAtOnce { live.start() }
  }

  /// Where it is.
  var address: String { gallery.address }

  /// What reading the list came to.
  struct Reading: Sendable {
    /// How many items it has brought.
    var count = 0
    /// Whether those are all.
    var isAtEnd = false
    /// Why it could not be read on, if that is so.
    var ending: DownloadReport.Ending?
  }

  /// Brings the list into the batch, until it ends or the task is cancelled.
  func read(_ list: FetchList) async -> Reading {
    var list = list
    var reading = Reading()
    do {
      try await live.add(contentsOf: &list, counting: &reading.count)
      reading.isAtEnd = !Task.isCancelled
    } catch {
      if let error = error as? ListFormatError {
        reading.ending = .listNotUnderstood(error)
      } else if !Task.isCancelled {
        reading.ending = .listUnreadable(String(describing: error))
      }
    }
    return reading
  }

  /// Tells the page what happens, until the task is cancelled.
  func follow() async { await gallery.follow() }

  /// Takes note that the run has ended.
  func runEnded() {
    live.end()
    gallery.runEnded()
  }

  /// Whether nothing was left.
  var hasLeftNothing: Bool { live.counts.kinds[.left] == 0 }

  /// Closes the page.
  func close() { gallery.stop() }
}
