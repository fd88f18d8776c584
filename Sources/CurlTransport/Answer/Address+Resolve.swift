// SPDX-License-Identifier: Apache-2.0

package import BatchwiseDownload
internal import CCurl

extension Address {
  /// The absolute address that a reference leads to from a base, or nothing if it leads nowhere.
  ///
  /// Done here and not left to `CURLINFO_REDIRECT_URL`, which stays empty when the transfer is
  /// ended before the redirect's own body, and which leaves spaces as they are.
  package static func resolve(_ reference: String, against base: String) -> String? {
    guard let parts = curl_url() else { return nil }
    defer { curl_url_cleanup(parts) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE)
    guard curl_url_set(parts, CURLUPART_URL, base, 0) == CURLUE_OK,
      curl_url_set(parts, CURLUPART_URL, reference, flags) == CURLUE_OK
    else { return nil }
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parts, CURLUPART_URL, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
