// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What all attempts of a run have in common.
///
/// A class only so that it can be passed about without copying: it does not change.
final class DownloadContext: Sendable {
  let destination: BodyDestination
  let options: DownloadOptions
  let digests: (any DigestMaker)?

  init(destination: BodyDestination, options: DownloadOptions, digests: (any DigestMaker)?) {
    self.destination = destination
    self.options = options
    self.digests = digests
  }
}

/// What is known of one attempt to download an item, and what follows from it.
struct DownloadAttempt: ~Copyable {
  /// From this length on, what has come is kept for a later attempt if it can go on from there.
  static let worthKeeping: Int64 = 1024 * 1024

  private static let noAnswer = DownloadFailure(
    .protocol, "The server sent no answer", remedy: .anotherAttempt)

  /// What is asked for.
  struct Request {
    var address: WebAddress
    var headers: [HeaderField]
    var usesNetrc: Bool
  }

  /// What to do when an answer has ended.
  enum Step {
    /// Ask again, for the rest that is needed or where a redirect led to.
    case request(Request)
    /// Ask again, once there is room in memory for so many bytes.
    case wait(Int64)
    /// The attempt is over.
    case end(DownloadState.Outcome)
    /// The file is whole, and its digests are to be looked at.
    case whole
  }

  let startedAt = ContinuousClock.now
  private let job: DownloadJob
  private let context: DownloadContext
  private var route: Route
  private var head: ResponseHead?
  private var file: PartialFile?
  /// What has come of the body, if that goes to memory.
  private var memory: MemoryBody?
  /// How much room in memory the body needs, if there was too little.
  private var missingRoom: Int64?
  /// The digests of the file, while there is one.
  private(set) var digest: BodyDigest?
  /// From where on the rest of the file was asked for; 0 for all of it.
  private var offset: Int64 = 0
  /// What the file is known by, if it can be gone on with.
  private var resume: ResumePoint?
  /// Whether ``resume`` has to be recorded.
  private var isNewlyKept = false
  /// Whether the rest of the file is not asked for any more, for it was refused.
  private var beginsAnew = false
  /// Why the body is not wanted, or could not be written.
  private var trouble: DownloadFailure?
  /// The first bytes of the file, while they have to be looked at and are not enough.
  private var beginning: [UInt8]?

  init(_ job: DownloadJob, of context: DownloadContext) {
    self.job = job
    self.context = context
    route = job.route
    resume = job.resume
  }

  /// The bytes that are there, and how many there will be if that is known.
  var size: Int64 {
    switch file {
    case .none: received
    case .some(let file): file.size
    }
  }
  /// The bytes that are in memory.
  private var received: Int64 {
    switch memory {
    case .none: 0
    case .some(let memory): memory.size
    }
  }
  var total: Int64? {
    switch head?.framing {
    case .length(let length): offset + length
    default: resume?.total
    }
  }

  private var address: WebAddress { route.last ?? job.item.address }

  /// The first request.
  mutating func begin() -> Request {
    guard let resume = job.resume, let folder = context.destination.folder else { return request() }
    do throws(SystemError) {
      file = try PartialFile(keptFor: resume.partialKey(of: job.item.key), in: folder)
    } catch {
      trouble = DownloadFailure(disk: error)
    }
    let size = file?.size ?? 0
    if size == 0 || size > resume.total ?? .max { startAnew() }
    return request()
  }

  /// The request, first or again, after so much room in memory was reserved for its answer.
  mutating func begin(in store: BodyStore, reserved bytes: Int) -> Request {
    memory = MemoryBody(in: store, reserved: bytes)
    return request()
  }

  /// What a request for the last address of the route looks like.
  private func request() -> Request {
    var headers = route.isAtHome ? context.options.headers + job.item.source.headers : []
    if !route.isAtHome {
      headers = context.options.headers.filter(\.isHarmless)
    }
    if size > 0, let resume {
      headers += resume.validator.fieldsForRest(from: size)
    } else if job.isConditional, let validator = job.previous?.validator {
      headers += validator.conditionalFields
    }
    return Request(
      address: address, headers: headers,
      usesNetrc: context.options.usesNetrc && route.isAtHome)
  }

  // MARK: - The answer

  mutating func receive(_ head: ResponseHead) -> BodyDecision {
    self.head = head
    if trouble != nil { return .discard }
    if head.bringsRest(from: size, total: resume?.total) {
      offset = size
      if let total = head.contentRange?.total { resume?.total = total }
      return .accept
    }
    guard head.bringsFile else { return .discard }
    offset = 0
    do throws(DownloadFailure) {
      try check(head)
    } catch {
      trouble = error
      return .discard
    }
    // Where the rest was asked for and all of it comes, the file is another one by now. What was kept
    // stays until more than that is there.
    file = nil
    memory?.startAnew()
    if case .length(let length) = head.framing, let room = memory?.announce(length) {
      guard take(room, for: length) else { return .discard }
    }
    beginning = context.options.filter.needsFirstBytes ? [] : nil
    resume = head.validator.flatMap { $0.isStrong ? ResumePoint(validator: $0, total: total) : nil }
    return .accept
  }

  /// Refuses a file that is not wanted, by what its head tells.
  private func check(_ head: ResponseHead) throws(DownloadFailure) {
    var length: Int64?
    if case .length(let announced) = head.framing { length = announced }
    let filter = context.options.filter
    if let failure = filter.failure(length: length, mediaType: head.mediaType) {
      throw failure.with(status: head.status)
    }
    if let length, let wanted = job.item.source.size, length != wanted {
      throw DownloadFailure(
        .size, status: head.status, "\(length) bytes were announced, and the list says \(wanted)")
    }
  }

  /// Refuses a file that is not wanted, by its bytes so far; if it is whole, fewer first bytes have to
  /// do.
  private mutating func check(
    _ bytes: UnsafeRawBufferPointer, isWhole: Bool = false
  ) throws(DownloadFailure) {
    let filter = context.options.filter
    if let failure = filter.failure(received: size) { throw failure.with(status: head?.status) }
    guard var beginning else { return }
    beginning += bytes.prefix(FileFilter.firstBytes - beginning.count)
    self.beginning = beginning
    guard isWhole || beginning.count == FileFilter.firstBytes else { return }
    self.beginning = nil
    let mediaType = head?.mediaType
    let failure = beginning.withUnsafeBytes {
      filter.failure(firstBytes: $0, mediaType: mediaType)
    }
    if let failure { throw failure.with(status: head?.status) }
  }

  /// Writes the bytes, and says whether that went well.
  ///
  /// The file is made with the first of them, so that a refused connection or an error page makes
  /// none.
  mutating func receive(_ body: UnsafeRawBufferPointer) -> Bool {
    if trouble != nil { return false }
    if let room = memory?.append(body) {
      // How much more it is going to be is not known, so it comes alone the next time.
      guard take(room, for: Int64(context.destination.store?.room.capacity ?? 0)) else {
        return false
      }
      return isWanted(body)
    }
    do throws(SystemError) {
      try makeFile()
      try file?.write(body)
      digest?.wrote(body)
    } catch {
      trouble = DownloadFailure(disk: error)
      return false
    }
    guard isWanted(body) else { return false }
    keepIfLong()
    return trouble == nil
  }

  /// Whether the file is wanted, by its bytes so far.
  private mutating func isWanted(_ body: UnsafeRawBufferPointer) -> Bool {
    do throws(DownloadFailure) {
      try check(body)
      return true
    } catch {
      file?.discard()
      trouble = error
      return false
    }
  }

  /// Whether there is room in memory; if not now, it is asked for so much.
  private mutating func take(_ room: MemoryBody.Room, for length: Int64) -> Bool {
    switch room {
    case .granted: return true
    case .later: missingRoom = length
    case .never:
      let most = context.destination.store?.room.capacity ?? 0
      trouble = DownloadFailure(
        .tooLarge, status: head?.status, "All bodies together may hold \(most) bytes")
    }
    return false
  }

  /// Keeps a file for a later attempt once enough of it is there.
  private mutating func keepIfLong() {
    guard size >= Self.worthKeeping, let resume, beginning == nil, file?.isKept == false else {
      return
    }
    do throws(SystemError) {
      try file?.keep(for: resume.partialKey(of: job.item.key))
      isNewlyKept = true
    } catch {
      trouble = DownloadFailure(disk: error)
    }
  }

  /// Makes the file and what computes its digests, unless they are there.
  private mutating func makeFile() throws(SystemError) {
    guard let folder = context.destination.folder else { return }
    if file == nil {
      file = try PartialFile(in: folder)
      digest = nil
    }
    guard digest == nil, let maker = context.digests, let open = file?.file else { return }
    var digests = [maker.makeDigest(.sha256)]
    if let checksum = job.item.source.checksum, checksum.algorithm != .sha256 {
      digests.append(maker.makeDigest(checksum.algorithm))
    }
    digest = BodyDigest(digests, of: open, written: size)
  }

  /// What has to be recorded of a partial file that is kept since it was asked last.
  mutating func takeKept() -> ResumePoint? {
    guard isNewlyKept else { return nil }
    isNewlyKept = false
    return resume
  }

  // MARK: - The end

  mutating func step(after end: TransferEnd) -> Step {
    let step: Step
    do throws(DownloadFailure) {
      if let trouble { throw trouble }
      if let missingRoom = missingRoom.take() {
        memory = nil
        return .wait(missingRoom)
      }
      switch end {
      case .complete: step = try complete()
      case .redirect(let target): step = try follow(target)
      case .failed(let failure): throw failure
      case .cancelled: step = .end(.left(resume: keptPoint))
      }
    } catch {
      step = .end(.failed(error, resume: keptPoint))
    }
    // What was not kept is gone before anybody hears how the attempt ended.
    if case .end = step {
      file = nil
      memory = nil
    }
    return step
  }

  /// Where a later attempt can go on.
  private var keptPoint: ResumePoint? {
    switch file {
    case .none: nil
    case .some(let file): file.isKept ? resume : nil
    }
  }

  private mutating func complete() throws(DownloadFailure) -> Step {
    guard let head else { throw Self.noAnswer }
    switch head.status {
    case 304 where job.isConditional: return .end(.notModified)
    case 206 where offset > 0: break
    case 206, 416:
      // The rest cannot be had: it is not there, or not what was asked for.
      guard size > 0, !beginsAnew else { throw head.failure }
      if head.status == 416, head.contentRange?.total == size { break }
      startAnew()
      return .request(request())
    case _ where head.bringsFile: break
    default: throw head.failure
    }
    do throws(SystemError) {
      try makeFile()
    } catch {
      throw DownloadFailure(disk: error)
    }
    if offset == 0 { try check(UnsafeRawBufferPointer(start: nil, count: 0), isWhole: true) }
    let size = self.size
    if case .length(let announced) = head.framing, head.bringsFile || offset > 0,
      announced != size - offset
    {
      throw DownloadFailure(
        .truncated, status: head.status,
        "\(size - offset) of \(announced) announced bytes arrived", remedy: .anotherAttempt)
    }
    if let total = resume?.total, offset > 0, size != total {
      startAnew()
      throw DownloadFailure(
        .truncated, status: head.status, "\(size) of \(total) bytes arrived",
        remedy: .anotherAttempt)
    }
    if let failure = context.options.filter.failure(wholeLength: size) {
      file?.discard()
      throw failure.with(status: head.status)
    }
    if let wanted = job.item.source.size, size != wanted {
      file?.discard()
      throw DownloadFailure(
        .size, status: head.status, "\(size) bytes arrived, and the list says \(wanted)")
    }
    return .whole
  }

  /// Begins again without what was kept.
  private mutating func startAnew() {
    beginsAnew = true
    file = nil
    memory?.startAnew()
    digest = nil
    resume = nil
    offset = 0
    head = nil
  }

  private mutating func follow(_ target: String) throws(DownloadFailure) -> Step {
    guard let head else { throw Self.noAnswer }
    guard head.isRedirect else { throw head.failure }
    let origin = address.origin
    let next = try route.follow(target, from: job.item.address, status: head.status)
    self.head = nil
    // Another host has its own limit, and perhaps asks to be left alone.
    if next.origin != origin { return .end(.redirected(route)) }
    return .request(request())
  }

  /// The body in memory whose bytes are to be compared with a checksum, if it is in memory.
  var comparedBody: Data? {
    guard job.item.source.checksum != nil else { return nil }
    switch memory {
    case .none: return nil
    case .some(let memory): return memory.data
    }
  }

  /// Hands the file over, if its bytes are the right ones.
  mutating func whole(_ digests: BodyDigest.Outcome) throws(DownloadFailure) -> WholeFile {
    guard let head else { preconditionFailure("Nothing is whole without an answer") }
    let size = self.size
    var file = file.take()
    let body = memory.take()?.whole(mediaType: head.mediaType)
    digest = nil
    let checksums: [Checksum]
    switch digests {
    case .success(let known): checksums = known
    case .failure(let error): throw DownloadFailure(disk: error)
    }
    let wanted = job.item.source.checksum
    if let wanted, !checksums.contains(wanted) {
      file?.discard()
      let got = checksums.first { $0.algorithm == wanted.algorithm }?.hex ?? "unknown"
      throw DownloadFailure(
        .checksum, status: head.status,
        "Its \(wanted.algorithm.rawValue) is \(got), and the list says \(wanted.hex)",
        remedy: .oneMoreAttempt)
    }
    let isMeasured = head.framing != .untilClose || offset > 0
    return WholeFile(
      file, body, of: job,
      DownloadedFile(
        // That there is no more (416) only shows that what came before in parts is all.
        name: job.path.description, bytes: size, status: head.status == 416 ? 206 : head.status,
        attempts: job.attempts,
        duration: .now - startedAt,
        proof: wanted != nil ? .checksum : isMeasured ? .length : .unverified,
        sha256: checksums.first { $0.algorithm == .sha256 }),
      validator: resume?.validator ?? head.validator)
  }
}
