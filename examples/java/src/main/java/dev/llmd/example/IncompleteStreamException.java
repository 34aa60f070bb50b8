package dev.llmd.example;

/** The stream ended without a terminal event: there is no answer. */
final class IncompleteStreamException extends RuntimeException {
  private static final long serialVersionUID = 1;

  IncompleteStreamException() {
    super("the stream ended without a terminal event");
  }
}
