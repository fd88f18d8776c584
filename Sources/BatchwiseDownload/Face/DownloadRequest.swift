// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a program wants to have downloaded: an address, and what is known of its file.
///
///     let request = DownloadRequest("https://a.example/1.jpg", name: "animals/dog.jpg")
///
/// An address alone is a request too: `String` and `URL` are ``DownloadRequestConvertible``.
public struct DownloadRequest: Sendable, Hashable {
  /// The address, of the scheme `http` or `https`.
  ///
  /// A user name and password in it are sent to its own origin only, and never shown.
  public var url: String

  /// The path that the file shall have below the output folder; nil for a name made of the address.
  public var name: String?

  /// What the file's bytes shall come to.
  public var checksum: Checksum?

  /// How many bytes the file shall have.
  public var size: Int64?

  /// What to send with the request, to the address's own origin only.
  public var headers: [HeaderField]

  /// Describes a request.
  public init(
    _ url: String, name: String? = nil, checksum: Checksum? = nil, size: Int64? = nil,
    headers: [HeaderField] = []
  ) {
    self.url = url
    self.name = name
    self.checksum = checksum
    self.size = size
    self.headers = headers
  }
}

/// A value that can be downloaded: a ``DownloadRequest``, an address as `String` or `URL`, or an item
/// of a list.
public protocol DownloadRequestConvertible: Sendable {
  /// The request that the value stands for.
  var downloadRequest: DownloadRequest { get }
}

extension DownloadRequest: DownloadRequestConvertible {
  /// The request itself.
  public var downloadRequest: DownloadRequest { self }
}

extension String: DownloadRequestConvertible {
  /// A request for the address.
  public var downloadRequest: DownloadRequest { DownloadRequest(self) }
}

extension URL: DownloadRequestConvertible {
  /// A request for the address.
  public var downloadRequest: DownloadRequest { DownloadRequest(absoluteString) }
}

extension WorkItem: DownloadRequestConvertible {
  /// A request for the item.
  ///
  /// Where a list is downloaded, an item's line is kept, and an item with a flaw fails.
  public var downloadRequest: DownloadRequest {
    DownloadRequest(address, name: name, checksum: checksum, size: size, headers: headers)
  }

  /// The item that a value stands for.
  package init(_ value: some DownloadRequestConvertible) {
    if let item = value as? WorkItem {
      self = item
      return
    }
    let request = value.downloadRequest
    self.init(address: request.url)
    name = request.name
    checksum = request.checksum
    size = request.size
    headers = request.headers
  }
}

/// What tells two requests apart: those that are equal in it are one transfer.
struct RequestIdentity: Hashable, Sendable {
  private let url: String
  private let name: String?
  private let headers: [HeaderField]
  private let checksum: Checksum?
  private let size: Int64?

  /// Of a file: what has the same address, name and headers has the same file.
  init(ofFile item: WorkItem) {
    url = Self.address(of: item)
    name = item.name
    headers = item.headers
    checksum = nil
    size = nil
  }

  /// Of a body, for which a name has no meaning.
  init(ofBody item: WorkItem) {
    url = Self.address(of: item)
    name = nil
    headers = item.headers
    checksum = item.checksum
    size = item.size
  }

  private static func address(of item: WorkItem) -> String {
    (try? WebAddress(item.address))?.absolute ?? item.address
  }
}
