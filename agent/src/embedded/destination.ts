// The destination of a request, read strictly: a target that can be understood in two ways is
// rejected.

export interface Destination {
  /** As written; IPv6 in brackets. Whether it makes sense is for the decision. */
  host: string;
  port: number;
  /** For a plain request: the path to request from the destination, and its Host header. */
  path: string;
  authority: string;
  /** For a plain request, `user:password` before the host. */
  userinfo?: string | undefined;
}

const connectForm = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/;
const absoluteForm =
  /^http:\/\/(?:([^@/?#]*)@)?((\[[^\]/?#]*\]|[^:[\]@/?#]*)(?::(\d{0,5}))?)(?=[/?#]|$)([^#]*)/i;

/** Reads the target of a request line; undefined if a proxy does not accept it. */
export function readDestination(method: string, target: string): Destination | undefined {
  if (method === 'CONNECT') {
    const [authority, host, port] = connectForm.exec(target) ?? [];
    if (authority === undefined || host === undefined) return undefined;
    return { host, port: Number(port), path: '', authority };
  }
  const [, userinfo, authority, host, port, rest = ''] = absoluteForm.exec(target) ?? [];
  if (authority === undefined || host === undefined) return undefined;
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  return { host, port: Number(port || 80), path, authority, userinfo };
}
