// SPDX-License-Identifier: Apache-2.0

// Downloads 20 pictures to a folder, at most 3 at a time, and shows how far it is.
//
//     scripts/example pictures [FOLDER]

import BatchwiseDownload
import CurlTransport
import ExampleOrigin

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

let origin = try ExampleOrigin(milliseconds: 100...300)
let urls = (1...20).map { origin.url("/pictures/\($0 < 10 ? "0" : "")\($0).svg") }

let temporary = FileManager.default.temporaryDirectory.appending(path: "batchwise-\(UUID())").path
let folder = try OutputFolder(path: CommandLine.arguments.dropFirst().first ?? temporary)
let downloader = BatchDownloader(transport: try CurlTransport())

// The control looks into the batch while it runs; it could pause it, change its limit, or cancel it.
let control = DownloadControl()
async let download = downloader.downloadAll(urls, to: folder, limit: 3, control: control)

var done = -1
for await status in control.statusUpdates where status.done > done {
  done = status.done
  print("\(done) of \(urls.count), \(status.inFlight) in flight")
}

// In the order of the list. A file has its name only when all of it is there.
let files = try await download
print("In \(folder.path):", files.compactMap(\.file).joined(separator: " "))
origin.conclude(peakInFlight: 3, files.count == 20)
