// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@testable import CurlTransport

/// A server with bodies of all lengths, and one between any two of them whose length is not announced.
struct MixedBodies {
  private let origin: MisbehavingOrigin
  private let server: Nginx
  private let bodies: [[UInt8]]
  private let chunks = (0..<40).map { String(repeating: "\($0)", count: 400) }

  /// Makes so many bodies, each longer than the last one by a step.
  init(count: Int, step: Int) throws {
    origin = try MisbehavingOrigin()
    origin.on("/chunks", .chunked(chunks))
    server = try Nginx(
      isSecured: true,
      directives: """
        location = /chunks {
          proxy_pass http://127.0.0.1:\(origin.port);
          proxy_http_version 1.1;
        }
        """)
    bodies = (0..<count).map { index in
      (0..<(index * step)).map { UInt8(truncatingIfNeeded: $0 &* index >> 2) }
    }
    for (index, body) in bodies.enumerated() { try server.put(body, at: "\(index)") }
  }

  /// Fetches everything, and looks whether each body is whole and nobody else's.
  func expectAll(over transport: CurlTransport) async {
    let result = await Batch(
      bodies.indices.flatMap { [server.url(of: "\($0)"), server.url(of: "chunks")] },
      transport: transport
    ).run(limit: 12)
    #expect(result.ends.allSatisfy { $0 == .complete })
    let isSame = bodies.indices.allSatisfy {
      result.bodies[2 * $0] == bodies[$0]
        && result.bodies[2 * $0 + 1] == Array(chunks.joined().utf8)
    }
    #expect(isSame)
  }
}
