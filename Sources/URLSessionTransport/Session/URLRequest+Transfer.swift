// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

extension URLRequest {
  /// A year: longer than anything is let go on.
  static let patience: TimeInterval = 366 * 86_400

  /// The request of a transfer, made anew for each.
  ///
  /// A user name and password are taken out of the address and sent as a field, so they go with this
  /// request and with no other, and no challenge asks for them.
  ///
  /// - Throws: A `bad-url` failure if it cannot be made.
  init(_ transfer: Transfer, userAgent: String?) throws(DownloadFailure) {
    let host = Address.host(of: transfer.url)
    guard Address.scheme(of: transfer.url) != nil else {
      throw DownloadFailure(.badURL, "The address of \(host) is neither http nor https")
    }
    let (address, credentials) = Self.parts(of: transfer.url)
    guard !address.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }),
      let url = URL(string: Address.carried(address)),
      url.host()?.isEmpty == false, 0...65_535 ~= url.port ?? 0
    else { throw DownloadFailure(.badURL, "The address of \(host) cannot be read") }
    self.init(url: url, timeoutInterval: Self.patience)
    httpShouldHandleCookies = false
    setValue("*/*", forHTTPHeaderField: "Accept")
    setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    if let userAgent { setValue(userAgent, forHTTPHeaderField: "User-Agent") }
    if let credentials { setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization") }
    var own: Set<String> = []
    for field in transfer.headers where !Self.describesBody(field) {
      if own.insert(field.name.lowercased()).inserted {
        setValue(field.value, forHTTPHeaderField: field.name)
      } else {
        addValue(field.value, forHTTPHeaderField: field.name)
      }
    }
  }

  /// A GET has no body, and a server would wait for one that is announced.
  private static func describesBody(_ field: HeaderField) -> Bool {
    ["content-length", "transfer-encoding"].contains(field.name.lowercased())
  }

  /// The address without user name and password, and these two as Basic authentication writes them.
  private static func parts(of text: String) -> (address: String, credentials: String?) {
    guard let slashes = text.utf8.firstRange(of: "://".utf8) else { return (text, nil) }
    let rest = text.utf8[slashes.upperBound...]
    let authority = rest.prefix { !"/?#\\".utf8.contains($0) }
    guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return (text, nil) }
    let address = "\(text[..<slashes.upperBound])\(text[text.utf8.index(after: at)...])"
    if at == authority.startIndex { return (address, nil) }
    var words = text[authority.startIndex..<at].split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    if words.count == 1 { words.append("") }
    let plain = words.map { String($0).removingPercentEncoding ?? String($0) }
    return (address, Data("\(plain[0]):\(plain[1])".utf8).base64EncodedString())
  }
}
