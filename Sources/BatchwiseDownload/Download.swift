// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// One item in flight: follows its redirects, writes its partial file and commits it.
///
/// All of it happens on the transport's thread, call after call; the lock only proves that to the
/// compiler. What the item comes to is told to its run once.
final class Download: TransferHandler {
  let admitted: DownloadState.Admitted
  private let run: BatchDownloader
  private let state: Mutex<DownloadAttempt>

  init(_ admitted: DownloadState.Admitted, of run: BatchDownloader) {
    self.admitted = admitted
    self.run = run
    state = Mutex(DownloadAttempt(admitted, folder: run.folder))
  }

  /// The request for the item's own address.
  var firstTransfer: Transfer { transfer(of: admitted.item.address) }

  private func transfer(of address: WebAddress) -> Transfer {
    Transfer(url: address.absolute, timeouts: run.timeouts, handler: self)
  }

  func receive(head: ResponseHead) -> BodyDecision {
    state.withLock { $0.receive(head) }
  }

  func receive(body: UnsafeRawBufferPointer) -> Bool {
    run.countReceived(body.count)
    return state.withLock { $0.receive(body) }
  }

  func finish(_ end: TransferEnd) {
    switch state.withLock({ $0.step(after: end) }) {
    case .request(let address): run.request([transfer(of: address)], for: [self])
    case .finish(let outcome): run.finished(self, outcome)
    }
  }
}

/// What is known of one try to download an item, and what follows from it.
struct DownloadAttempt: ~Copyable {
  /// The most redirects that are followed.
  static let mostRedirects = 10

  private static let noAnswer = DownloadFailure(.protocol, "The server sent no answer")

  /// What to do when an answer has ended.
  enum Step {
    /// Ask again, at the address that a redirect led to.
    case request(WebAddress)
    /// Nothing more: this is what the item came to.
    case finish(DownloadState.Outcome)
  }

  private let admitted: DownloadState.Admitted
  private let folder: OutputFolder
  private let startedAt = ContinuousClock.now
  /// The addresses asked so far: the item's own, then those that redirects led to.
  private var hops: [WebAddress]
  private var head: ResponseHead?
  private var file: PartialFile?
  /// Why the body could not be written.
  private var trouble: DownloadFailure?

  init(_ admitted: DownloadState.Admitted, folder: OutputFolder) {
    self.admitted = admitted
    self.folder = folder
    hops = [admitted.item.address]
  }

  mutating func receive(_ head: ResponseHead) -> BodyDecision {
    self.head = head
    return head.bringsFile ? .accept : .discard
  }

  /// Writes the bytes, and says whether that went well.
  ///
  /// The file is made with the first of them, so that a refused connection or an error page makes
  /// none.
  mutating func receive(_ body: UnsafeRawBufferPointer) -> Bool {
    if trouble != nil { return false }
    do throws(SystemError) {
      if file == nil { file = try PartialFile(in: folder) }
      try file?.write(body)
      return true
    } catch {
      trouble = DownloadFailure(disk: error)
      return false
    }
  }

  mutating func step(after end: TransferEnd) -> Step {
    // What was not committed is gone before anybody hears how the item ended.
    defer { file = nil }
    do throws(DownloadFailure) {
      if let trouble { throw trouble }
      switch end {
      case .complete: return .finish(try commit())
      case .redirect(let target): return .request(try follow(target))
      case .failed(let failure): throw failure
      case .cancelled: return .finish(.left)
      }
    } catch {
      return .finish(.failed(error))
    }
  }

  // MARK: - The rules

  /// Checks that the file is whole, and gives it its name.
  private mutating func commit() throws(DownloadFailure) -> DownloadState.Outcome {
    guard let head else { throw Self.noAnswer }
    guard head.bringsFile else { throw head.failure }
    if file == nil {
      do throws(SystemError) {
        file = try PartialFile(in: folder)
      } catch {
        throw DownloadFailure(disk: error)
      }
    }
    guard let file = file.take() else { preconditionFailure("The file was made just now") }
    let size = file.size
    if case .length(let announced) = head.framing, announced != size {
      throw DownloadFailure(
        .truncated, status: head.status, "\(size) of \(announced) announced bytes arrived")
    }
    let committed = try file.commit(as: admitted.name, or: admitted.item.alternative)
    if committed.isUnchanged { return .unchanged(file: committed.path.description) }
    return .done(
      DownloadedFile(
        name: committed.path.description, bytes: size, status: head.status, attempts: 1,
        duration: .now - startedAt, proof: head.framing == .untilClose ? .unverified : .length))
  }

  /// Decides whether a redirect may be followed.
  ///
  /// A password goes along within one origin and to no other.
  private mutating func follow(_ target: String) throws(DownloadFailure) -> WebAddress {
    guard let head, let hop = hops.last else { throw Self.noAnswer }
    guard head.isRedirect else { throw head.failure }
    func refusal(_ message: String) -> DownloadFailure {
      DownloadFailure(.redirect, status: head.status, message)
    }
    guard let next = (try? WebAddress(target))?.redirected(from: hop) else {
      throw refusal("A redirect leads to no http or https address")
    }
    if hop.scheme == "https", next.scheme == "http" {
      throw refusal("A redirect leads from https to http")
    }
    if hops.contains(next) { throw refusal("The redirects lead round in a circle") }
    guard hops.count <= Self.mostRedirects else {
      throw refusal("More than \(Self.mostRedirects) redirects")
    }
    hops.append(next)
    self.head = nil
    return next
  }
}

extension ResponseHead {
  /// Whether the body is the file that was asked for.
  ///
  /// Not so for "no content" (204, 205), which would leave an empty file, nor for a part that
  /// nobody asked for (206).
  fileprivate var bringsFile: Bool {
    (200...299).contains(status) && !(204...206).contains(status)
  }

  fileprivate var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

  fileprivate var failure: DownloadFailure {
    DownloadFailure(.status, status: status, "The server answered with status \(status)")
  }
}
