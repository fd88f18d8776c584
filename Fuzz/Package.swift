// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Programs that look for input which breaks what is promised of every input; see scripts/fuzz.
let package = Package(
  name: "fuzz",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "batchwise", path: "..")],
  targets: [.systemLibrary(name: "CFuzzer")]
    + [
      ("ListFuzzer", "BatchwiseDownload"), ("NameFuzzer", "BatchwiseDownload"),
      ("JournalFuzzer", "SQLiteJournal"),
    ].map { name, product in
      .executableTarget(
        name: name,
        dependencies: [.product(name: product, package: "batchwise"), "CFuzzer"],
        linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])])
    },
  swiftLanguageModes: [.v6]
)
