package dev.llmd.example;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;

/** Reads the details of llmd's errors. */
final class Errors {
  private Errors() {}

  /** Says what an error means: the reason is for programs, the delay is there if trying again makes sense. */
  static String describe(RuntimeException e) {
    if (!(e instanceof StatusRuntimeException failed)) {
      return e.getMessage();
    }
    String reason = "";
    String retry = "";
    try {
      for (Any detail : StatusProto.fromThrowable(failed).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          reason = detail.unpack(ErrorInfo.class).getReason() + " ";
        } else if (detail.is(RetryInfo.class)) {
          var delay = detail.unpack(RetryInfo.class).getRetryDelay();
          retry = "; retry in " + (delay.getSeconds() + delay.getNanos() / 1e9) + " s";
        }
      }
    } catch (InvalidProtocolBufferException broken) {
      reason = "";
    }
    Status status = failed.getStatus();
    String cause = status.getCause() == null ? "" : ": " + status.getCause().getMessage(); // as of a lost connection
    return reason + "(" + status.getCode() + "): " + status.getDescription() + cause + retry;
  }
}
