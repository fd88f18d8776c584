// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A certificate that vouches for 127.0.0.1 and `localhost`, signed by itself and good until 2120.
///
/// Its key is public, so nothing but a test may trust it.
public enum TestCertificate {
  /// The certificate in PEM.
  public static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBkTCCATegAwIBAgIUTBFPoM2SqV88TF+p8whCiQQe34UwCgYIKoZIzj0EAwIw
    GTEXMBUGA1UEAwwOYmF0Y2h3aXNlIHRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEy
    MDAxMDEwMDAwMDBaMBkxFzAVBgNVBAMMDmJhdGNod2lzZSB0ZXN0MFkwEwYHKoZI
    zj0CAQYIKoZIzj0DAQcDQgAEK+AV5oUYjVJDDL8JkfNHWv3ZhuYTrQa19SmIFubv
    Q7/LxrTVn4IUnRV4pgFTx1xmzweZ+npxVdG1amWCSHVKIqNbMFkwDwYDVR0TAQH/
    BAUwAwEB/zAnBgNVHREEIDAehwR/AAABgglsb2NhbGhvc3SCCyoubG9jYWxob3N0
    MB0GA1UdDgQWBBQwhao6fHfmn/C4yK2W4z8n9RWOgTAKBggqhkjOPQQDAgNIADBF
    AiAhlHQJAGRm5biX2dG/c4N7wOowSwMtaVhzSypuTo6yMQIhAPZzK5O/s1GQxtZd
    pwJtCx0PpSZQ23bGZf33+WdM9u9R
    -----END CERTIFICATE-----

    """

  /// The key in PEM.
  public static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQglWxJADmqI2PtG0PJ
    OUWGWpGtwHtUx1RlA9A7+Q/dDjShRANCAAQr4BXmhRiNUkMMvwmR80da/dmG5hOt
    BrX1KYgW5u9Dv8vGtNWfghSdFXimAVPHXGbPB5n6enFV0bVqZYJIdUoi
    -----END PRIVATE KEY-----

    """

  /// Writes the certificate to a file that a client can be told to trust.
  public static func write(to path: String) throws {
    try certificate.write(toFile: path, atomically: false, encoding: .utf8)
  }
}
