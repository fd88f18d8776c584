// SPDX-License-Identifier: Apache-2.0

public import BatchwiseDownload

/// Twenty pictures of a public service that hands out photographs for samples.
///
/// They are what `SampleBatchView` shows; nothing else asks for them.
public enum SamplePictures {
  /// The numbers under which the service has them.
  private static let numbers = [
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
  ]

  /// Requests for them, with names, for their addresses end alike.
  public static let requests = numbers.map { number in
    DownloadRequest("https://picsum.photos/id/\(number)/300/200", name: "picture-\(number).jpg")
  }
}
