// SPDX-License-Identifier: Apache-2.0

internal import CTestTLS

/// The server's side of TLS for the connections of one origin.
///
/// `@unchecked Sendable`: the context is set up in `init`, and afterwards OpenSSL itself counts and
/// locks what its connections share of it.
final class OriginTLS: @unchecked Sendable {
  private let context: OpaquePointer

  /// Nothing if OpenSSL will not have the certificate.
  init?(offersHTTP2: Bool) {
    guard let context = ctesttls_context(TestCertificate.certificate, TestCertificate.key) else {
      return nil
    }
    ctesttls_offer(context, offersHTTP2 ? 1 : 0)
    self.context = context
  }

  deinit { SSL_CTX_free(context) }

  /// Agrees with a client on encryption; nothing if that fails.
  func accept(_ descriptor: CInt) -> Session? {
    guard let connection = SSL_new(context) else { return nil }
    let session = Session(connection: connection)
    guard SSL_set_fd(connection, descriptor) == 1, SSL_accept(connection) == 1 else { return nil }
    return session
  }

  /// One encrypted connection.
  ///
  /// `@unchecked Sendable`: only the thread that serves the connection reads and writes in it.
  final class Session: @unchecked Sendable {
    private let connection: OpaquePointer

    init(connection: OpaquePointer) { self.connection = connection }

    deinit { SSL_free(connection) }

    func receive(_ chunk: inout [UInt8]) -> Int {
      Int(SSL_read(connection, &chunk, CInt(chunk.count)))
    }

    func send(_ bytes: ArraySlice<UInt8>) -> Int {
      bytes.withUnsafeBytes { Int(SSL_write(connection, $0.baseAddress, CInt($0.count))) }
    }

    /// Says that no more will come; without it an end looks like a cut.
    func end() { SSL_shutdown(connection) }
  }
}
