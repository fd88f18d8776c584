// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Small programs to learn and to copy from. scripts/example starts one, scripts/check examples all.
let package = Package(
  name: "examples",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "batchwise", path: "..")],
  targets: [
    // The server that they all speak to, so that none needs a network.
    .target(name: "ExampleOrigin"),
    .executableTarget(name: "profiles", dependencies: [batchwise, download, curl, origin]),
    .executableTarget(name: "pictures", dependencies: [download, curl, origin]),
    .executableTarget(name: "growing", dependencies: [batchwise, download, curl, origin]),
    .executableTarget(
      name: "gcd-to-async", dependencies: [batchwise, dispatch, download, curl, origin]),
    .executableTarget(name: "shared-limiter", dependencies: [batchwise, download, curl, origin]),
  ],
  swiftLanguageModes: [.v6]
)

var batchwise: Target.Dependency { .product(name: "Batchwise", package: "batchwise") }
var dispatch: Target.Dependency { .product(name: "BatchwiseDispatch", package: "batchwise") }
var download: Target.Dependency { .product(name: "BatchwiseDownload", package: "batchwise") }
var curl: Target.Dependency { .product(name: "CurlTransport", package: "batchwise") }
var origin: Target.Dependency { "ExampleOrigin" }

for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ]
}
