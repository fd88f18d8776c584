// SPDX-License-Identifier: Apache-2.0

extension ResponseHead {
  /// Whether the body is the whole file that was asked for.
  ///
  /// Not so for "no content" (204, 205), which would leave an empty file, nor for a part (206).
  var bringsFile: Bool { (200...299).contains(status) && !(204...206).contains(status) }

  /// Whether the body is the rest of a file of which so much is there: begins where that ends, ends
  /// where the file does, and belongs to a file of the length that is known.
  func bringsRest(from size: Int64, total known: Int64?) -> Bool {
    guard status == 206, size > 0, let part = contentRange, let bytes = part.bytes,
      bytes.lowerBound == size, framing == .length(Int64(bytes.count))
    else { return false }
    guard let total = part.total else { return true }
    return total == bytes.upperBound && total == known ?? total
  }

  var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

  /// The failure that an answer without the file is.
  var failure: DownloadFailure {
    DownloadFailure(
      .status, status: status, "The server answered with status \(status)", remedy: remedy)
  }

  /// What may help against the status.
  private var remedy: DownloadFailure.Remedy {
    switch status {
    case 429, 503: .leavingHostAlone(retryAfter)
    case 408, 425, 500, 502, 504, 520...524:
      retryAfter.map { .leavingHostAlone($0) } ?? .anotherAttempt
    default: .none
    }
  }

  /// What the server calls this state of the file, if it calls it anything.
  ///
  /// A time of change tells two states apart for sure only if it lay well in the past when the answer
  /// was made (RFC 9110, section 8.8.2.2): within the same second the file could change again.
  var validator: Validator? {
    if let entityTag { return .entityTag(entityTag) }
    return lastModified.map { .lastModified($0, isStrong: (age ?? 0) >= 60) }
  }
}

extension Validator {
  /// What the server called it.
  private var text: String {
    switch self {
    case .entityTag(let tag): tag
    case .lastModified(let time, _): time
    }
  }

  /// The fields that ask for the file only if it is no longer in this state.
  ///
  /// None if it holds what no field can: the journal may have been tampered with.
  var conditionalFields: [HeaderField] {
    let name =
      switch self {
      case .entityTag: "If-None-Match"
      case .lastModified: "If-Modified-Since"
      }
    return HeaderField("\(name): \(text)").map { [$0] } ?? []
  }

  /// The fields that ask for the rest of the file, or for all of it if it is no longer in this state
  /// (RFC 9110, section 13.1.5); none if it holds what no field can.
  func fieldsForRest(from offset: Int64) -> [HeaderField] {
    guard let range = HeaderField("Range: bytes=\(offset)-"),
      let condition = HeaderField("If-Range: \(text)")
    else { return [] }
    return [range, condition]
  }
}

extension HeaderField {
  /// Whether it says only what kind of answer is liked, and so may be sent to anybody.
  var isHarmless: Bool {
    ["accept", "accept-language", "user-agent"].contains(name.lowercased())
  }
}
