// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

extension HeadReader {
  /// Reads the head that a response tells, by the same rules as one that comes line by line.
  ///
  /// Which version of HTTP it came by cannot be seen. Fields of one name come as one, with commas.
  mutating func read(_ response: HTTPURLResponse) -> Step {
    var lines = ["HTTP/1.1 \(response.statusCode) -"]
    for case (let name as String, let value as String) in response.allHeaderFields {
      // A line break in a value would begin a field of its own.
      lines.append("\(name): \(value.filter { !$0.isNewline })")
    }
    lines.append("")
    var step = Step.more
    for line in lines {
      step = Array("\(line)\r\n".utf8).withUnsafeBytes { read(line: $0) }
      if step != .more { return step }
    }
    return step
  }
}

extension HTTPURLResponse {
  /// Whether the body that is handed over is another than the one that was sent.
  var isDecoded: Bool {
    guard let encoding = value(forHTTPHeaderField: "Content-Encoding") else { return false }
    return !encoding.split(separator: ",").allSatisfy {
      $0.trimmingCharacters(in: .whitespaces).lowercased() == "identity"
    }
  }
}
