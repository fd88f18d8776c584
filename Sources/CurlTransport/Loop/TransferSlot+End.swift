// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload
internal import CCurl

extension TransferSlot {
  /// What the handler is told, now that libcurl is done with the transfer.
  func end(after result: CURLcode) -> TransferEnd {
    switch stop {
    case .refused: return .cancelled
    case .enough: return wholeAnswer
    case .broken(let what): return .failed(.brokenAnswer(of: host, what))
    case .endless: return .failed(.brokenAnswer(of: host, "it has no end that shows"))
    case .late: return .failed(failure(CURLE_OPERATION_TIMEDOUT))
    case .idle:
      return .failed(
        DownloadFailure(
          .timeout, "Nothing came from \(host) for too long", remedy: .anotherAttempt))
    case nil: break
    }
    // Whether the rest of an unwanted body arrives whole is of no interest.
    if head.isComplete && decision == .discard { return wholeAnswer }
    guard result == CURLE_OK else { return .failed(failure(result)) }
    // libcurl is content with a head that breaks off.
    guard head.isComplete else { return .failed(failure(CURLE_PARTIAL_FILE)) }
    if case .length(let count) = framing, count != received {
      return .failed(failure(CURLE_PARTIAL_FILE))
    }
    return wholeAnswer
  }

  private var wholeAnswer: TransferEnd {
    guard let location = head.location else { return .complete }
    guard let target = Address.resolve(location, against: url) else {
      return .failed(
        DownloadFailure(.redirect, "\(host) redirects to an address that cannot be read"))
    }
    return .redirect(to: target)
  }

  private var host: String { Address.host(of: url) }

  private func failure(_ code: CURLcode) -> DownloadFailure {
    let systemError = CInt(truncatingIfNeeded: number(CURLINFO_OS_ERRNO))
    // A chunk that breaks the rules has the code of a broken connection, but no system error.
    if code == CURLE_RECV_ERROR, framing == .chunked, scheme == .http, systemError == 0 {
      return .brokenAnswer(of: host, "its body is no series of chunks")
    }
    return .transfer(
      TransferTrouble(
        code: code, host: host,
        proxy: settings.proxies.only(for: scheme).map {
          Address.host(of: $0.contains("://") ? $0 : "http://\($0)")
        },
        systemError: systemError,
        hasSentRequest: number(CURLINFO_REQUEST_SIZE) > 0,
        proxyStatus: number(CURLINFO_HTTP_CONNECTCODE),
        isOutOfDescriptors: isOutOfDescriptors(code),
        // OpenSSL says little when the connection fails, and much when the two cannot agree.
        wasCutOff: systemError != 0 || errorMentions("SSL_connect:")
          || errorMentions("unexpected eof")))
  }

  /// Whether a connection failed because the process, or the system, has too many open files.
  private func isOutOfDescriptors(_ code: CURLcode) -> Bool {
    switch code {
    case CURLE_COULDNT_CONNECT: Descriptor.isScarcity(socketError)
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_SSL_CACERT_BADFILE,
      CURLE_READ_ERROR:
      Descriptor.areScarce
    default: false
    }
  }
}
