// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
  name: "batchwise",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Batchwise", targets: ["Batchwise"]),
    .library(name: "BatchwiseDispatch", targets: ["BatchwiseDispatch"]),
    .library(name: "BatchwiseProgress", targets: ["BatchwiseProgress"]),
    .library(name: "BatchwiseTesting", targets: ["BatchwiseTesting"]),
    .library(name: "BatchwiseDownload", targets: ["BatchwiseDownload"]),
    .library(name: "BatchwiseUI", targets: ["BatchwiseUI"]),
    .library(name: "CurlTransport", targets: ["CurlTransport"]),
    .library(name: "URLSessionTransport", targets: ["URLSessionTransport"]),
    .library(name: "SQLiteJournal", targets: ["SQLiteJournal"]),
    .library(name: "CryptoDigest", targets: ["CryptoDigest"]),
    .executable(name: "batchwise", targets: ["BatchwiseMain"]),
  ],
  targets: [
    // The libraries, from the core outwards. None imports a sibling of its own level.
    .target(name: "Batchwise"),
    .target(name: "BatchwiseDispatch", dependencies: ["Batchwise"]),
    .target(name: "BatchwiseProgress", dependencies: ["Batchwise"]),
    .target(name: "BatchwiseTesting"),
    .target(
      name: "BatchwiseDownload", dependencies: ["Batchwise", "BatchwiseDispatch", "CFileCalls"]),
    .target(name: "BatchwiseUI", dependencies: ["BatchwiseDownload"]),
    .target(name: "CurlTransport", dependencies: ["BatchwiseDownload", "CCurl"]),
    .target(name: "URLSessionTransport", dependencies: ["Batchwise", "BatchwiseDownload"]),
    .target(name: "SQLiteJournal", dependencies: ["BatchwiseDownload", "CSQLite"]),
    .target(name: "CryptoDigest", dependencies: ["BatchwiseDownload", "CCrypto"]),

    .target(
      name: "BatchGallery", dependencies: ["BatchwiseDownload", "CMicrohttpd"],
      resources: [
        .embedInCode("Page/page.html"), .embedInCode("Page/page.css"), .embedInCode("Page/page.js"),
        .embedInCode("Page/tiles.js"),
      ]),

    // The command: the only room that knows concrete types.
    .target(
      name: "BatchwiseCommand",
      dependencies: [
        "Batchwise", "BatchGallery", "BatchwiseDownload", "CurlTransport", "CryptoDigest",
        "SQLiteJournal", "CFileCalls", "CGetopt", "CMicrohttpd", "CZlib",
      ]),
    .executableTarget(name: "BatchwiseMain", dependencies: ["BatchwiseCommand"]),

    // Headers only: what the operating system has and Swift's own modules leave out.
    .systemLibrary(name: "CFileCalls"),
    .systemLibrary(name: "CGetopt"),

    // The C libraries, each behind one door. scripts/install names the same packages.
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "CCrypto", pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

    // What only the origins of tests need: the server's side of TLS.
    .systemLibrary(
      name: "CTestTLS", path: "Tests/CTestTLS", pkgConfig: "libssl",
      providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),

    // Tests mirror the sources; TestSupport holds what several of them need.
    .target(
      name: "TestSupport", dependencies: ["BatchwiseDownload", "BatchwiseTesting", "CTestTLS"],
      path: "Tests/TestSupport"),
    .testTarget(name: "BatchwiseTests", dependencies: ["Batchwise", "BatchwiseTesting"]),
    .testTarget(
      name: "BatchwiseDispatchTests", dependencies: ["BatchwiseDispatch", "BatchwiseTesting"]),
    .testTarget(
      name: "BatchwiseProgressTests",
      dependencies: ["Batchwise", "BatchwiseProgress", "BatchwiseTesting"]),
    .testTarget(name: "BatchwiseTestingTests", dependencies: ["BatchwiseTesting"]),
    .testTarget(
      name: "FacesTests", dependencies: ["Batchwise", "BatchwiseDispatch", "BatchwiseTesting"]),
    .testTarget(
      name: "BatchwiseDownloadTests",
      dependencies: ["BatchwiseDownload", "BatchwiseTesting", "TestSupport"]),
    .testTarget(
      name: "BatchwiseUITests",
      dependencies: [
        "Batchwise", "BatchwiseUI", "BatchwiseDownload", "BatchwiseTesting", "TestSupport",
      ]),
    .testTarget(
      name: "CurlTransportTests",
      dependencies: ["CurlTransport", "BatchwiseDownload", "BatchwiseTesting", "TestSupport"]),
    .testTarget(
      name: "URLSessionTransportTests", dependencies: ["URLSessionTransport", "BatchwiseDownload"]),
    .testTarget(
      name: "ConformanceTests",
      dependencies: [
        "Batchwise", "BatchwiseDownload", "CurlTransport", "TestSupport", "URLSessionTransport",
      ]),
    .testTarget(
      name: "SQLiteJournalTests",
      dependencies: ["SQLiteJournal", "BatchwiseDownload", "BatchwiseTesting", "TestSupport"]),
    .testTarget(
      name: "CryptoDigestTests", dependencies: ["CryptoDigest", "BatchwiseDownload"]),
    .testTarget(
      name: "BatchGalleryTests",
      dependencies: ["BatchGallery", "BatchwiseDownload", "BatchwiseTesting", "TestSupport"]),
    .testTarget(
      name: "BatchwiseCommandTests",
      dependencies: [
        "Batchwise", "BatchwiseCommand", "BatchwiseDownload", "BatchwiseTesting", "CurlTransport",
        "CZlib", "SQLiteJournal", "TestSupport",
      ]),
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
