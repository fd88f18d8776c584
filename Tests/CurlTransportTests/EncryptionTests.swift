// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("An encrypted transfer", .timeLimit(.minutes(1)))
struct EncryptionTests {
  private func origin() throws -> MisbehavingOrigin {
    let origin = try MisbehavingOrigin(security: .tls)
    origin.onEverythingElse(.echoingPath)
    return origin
  }

  @Test("needs a certificate that can be trusted", arguments: CurlTransport.Driver.allCases)
  func untrusted(_ driver: CurlTransport.Driver) async throws {
    let origin = try origin()
    let answer = try await CurlTransport(driver: driver).fetch(origin.url("/a"))
    #expect(
      answer.end
        == .failed(
          DownloadFailure(
            .tls, "The certificate of 127.0.0.1:\(origin.port) is not to be trusted")))
    #expect(origin.record.requests.isEmpty)
  }

  @Test("needs none if the user says so", arguments: CurlTransport.Driver.allCases)
  func insecure(_ driver: CurlTransport.Driver) async throws {
    let origin = try origin()
    let transport = try CurlTransport(.init(isInsecure: true), driver: driver)
    #expect(await transport.fetch(origin.url("/a")).body == "/a")
  }

  @Test("trusts the certificates it is given", arguments: CurlTransport.Driver.allCases)
  func trusted(_ driver: CurlTransport.Driver) async throws {
    let origin = try origin()
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/authority.pem"
    try TestCertificate.write(to: path)
    let transport = try CurlTransport(.init(caCertificates: path), driver: driver)
    let result = await Batch(
      (0..<20).map { origin.url("/\($0)") }, transport: transport
    ).run(limit: 4)
    #expect(result.ends.allSatisfy { $0 == .complete })
    withExtendedLifetime(transport) {}
  }

  @Test(
    "that is cut off before it is encrypted may be tried again",
    arguments: CurlTransport.Driver.allCases, [false, true])
  func cutOff(_ driver: CurlTransport.Driver, _ withReset: Bool) async throws {
    let origin = try MisbehavingOrigin(security: .tlsCutOff(withReset: withReset))
    let answer = try await CurlTransport(driver: driver).fetch(origin.url())
    #expect(answer.end?.reason == .tls)
    #expect(answer.end?.remedy == .anotherAttempt)
  }

  @Test(
    "with a server that speaks something else may not", arguments: CurlTransport.Driver.allCases)
  func somethingElse(_ driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin(greeting: "220 mail.example ESMTP\r\n")
    let answer = try await CurlTransport(driver: driver).fetch("https://127.0.0.1:\(origin.port)/")
    #expect(answer.end?.reason == .tls)
    #expect(answer.end?.remedy == DownloadFailure.Remedy.none)
  }
}
