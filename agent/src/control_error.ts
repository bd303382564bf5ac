// Why a request to the control plane failed, in a form that the agent can decide by.
import { networkFault } from '../../kit/src/network_fault.ts';

/** The remedy if the operator's own authority issued the control plane's certificate. */
export const trustOwnAuthority =
  'for an authority of your own, export NODE_EXTRA_CA_CERTS=FILE; with the Debian package, copy FILE to /usr/local/share/ca-certificates and run update-ca-certificates';

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export function connectionFault(error: NodeJS.ErrnoException): string {
  const { code = '' } = error;
  return unknownAuthority.has(code)
    ? `its certificate is from an authority unknown here (${code}); ${trustOwnAuthority}`
    : networkFault(error);
}

/** The error of every failed request. */
export class ControlError extends Error {
  /** The status of the response; undefined if there was none, or it broke off. */
  readonly status: number | undefined;
  /** The code that programs decide by. */
  readonly code: string | undefined;
  /** The part of the request that is wrong, such as `rows.12.at`. */
  readonly field: string | undefined;
  /** Whether the response came from a control plane, and not from something in between. */
  readonly isOurs: boolean;
  readonly retry_after_seconds: number | undefined;
  /** Epoch seconds by the control plane's clock; undefined if it sent no time. */
  readonly answered_at: number | undefined;

  constructor(
    message: string,
    about: {
      status?: number;
      code?: string | undefined;
      field?: string | undefined;
      isOurs?: boolean;
      retry_after_seconds?: number | undefined;
      answered_at?: number | undefined;
    } = {},
  ) {
    super(message);
    this.status = about.status;
    this.isOurs = about.isOurs ?? false;
    this.code = about.code;
    this.field = about.field;
    this.retry_after_seconds = about.retry_after_seconds;
    this.answered_at = about.answered_at;
  }
}
