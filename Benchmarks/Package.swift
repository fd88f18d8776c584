// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "batchwise", path: "..")],
  targets: [
    .executableTarget(
      name: "core",
      dependencies: ["CAllocations", .product(name: "Batchwise", package: "batchwise")]),
    .executableTarget(
      name: "journal",
      dependencies: [
        .product(name: "BatchwiseDownload", package: "batchwise"),
        .product(name: "CryptoDigest", package: "batchwise"),
        .product(name: "SQLiteJournal", package: "batchwise"), "CBaselines",
      ]),
    .systemLibrary(name: "CBaselines"),
    .target(name: "CAllocations"),
    .executableTarget(name: "urlsession"),
  ],
  swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ]
}
