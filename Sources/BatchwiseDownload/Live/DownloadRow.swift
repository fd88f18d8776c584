// SPDX-License-Identifier: Apache-2.0

/// What is known of one request of a batch that somebody looks at.
public struct DownloadRow: Sendable, Equatable, Identifiable {
  /// The place of the request in the batch, counted from zero.
  public let id: Int

  /// Its address without user name and password, fit to be shown.
  public let url: String

  /// What has become of it.
  public let state: State

  /// What can become of a request.
  public enum State: Sendable, Equatable {
    /// It has not started.
    case waiting
    /// It is in flight.
    case inFlight(attempt: Int)
    /// An attempt has failed, and another one follows after a pause.
    case pausing(DownloadFailure)
    /// Its file has its final name.
    case done(DownloadedFile)
    /// Nothing had to be downloaded, or to be kept. The file is named where it is known.
    case skipped(SkipReason, file: String?)
    /// It failed for good, unless somebody asks for it again.
    case failed(DownloadFailure)
    /// The batch ended before it was done.
    case left
  }

  /// The states without what is known in them, in the order in which they are usually gone through.
  public enum Kind: String, Sendable, CaseIterable {
    /// It has not started.
    case waiting
    /// It is in flight.
    case inFlight = "in-flight"
    /// It pauses before another attempt.
    case pausing
    /// Its file has its final name.
    case done
    /// Nothing had to be downloaded, or to be kept.
    case skipped
    /// It failed for good.
    case failed
    /// The batch ended before it was done.
    case left
  }

  /// Describes a row.
  package init(id: Int, url: String, state: State) {
    self.id = id
    self.url = url
    self.state = state
  }

  /// Which state it is in.
  public var kind: Kind { state.kind }

  /// The path of its file, relative to the output folder, if it has one.
  public var file: String? {
    switch state {
    case .done(let file): file.name
    case .skipped(.alreadyDone, let file), .skipped(.unchanged, let file),
      .skipped(.duplicate, let file):
      file
    case .skipped(.collision, _), .waiting, .inFlight, .pausing, .failed, .left: nil
    }
  }

  /// Why it failed, or why its last attempt did while it pauses.
  public var failure: DownloadFailure? {
    switch state {
    case .failed(let failure), .pausing(let failure): failure
    case .waiting, .inFlight, .done, .skipped, .left: nil
    }
  }
}

extension DownloadRow.State {
  /// Which state it is.
  var kind: DownloadRow.Kind {
    switch self {
    case .waiting: .waiting
    case .inFlight: .inFlight
    case .pausing: .pausing
    case .done: .done
    case .skipped: .skipped
    case .failed: .failed
    case .left: .left
    }
  }
}
