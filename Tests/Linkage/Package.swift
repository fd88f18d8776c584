// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A stranger's program that uses the core library and nothing else. scripts/check builds it and
// looks at what it links.
let package = Package(
  name: "linkage",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "batchwise", path: "../..")],
  targets: [
    .executableTarget(
      name: "linkage", dependencies: [.product(name: "Batchwise", package: "batchwise")])
  ],
  swiftLanguageModes: [.v6]
)
