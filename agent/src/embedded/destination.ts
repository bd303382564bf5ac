// The destination of a request, read strictly: a target that can be understood in two ways is not understood.

export interface Destination {
  /** As written; brackets around IPv6. Whether it is sane is for the decision to say. */
  host: string;
  port: number;
  /** The path that a plain request asks the destination for, and the Host header that goes with it. */
  path: string;
  authority: string;
}

const connectForm = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/;
const absoluteForm = /^http:\/\/((\[[^\]/?#]*\]|[^:[\]/?#]*)(?::(\d{0,5}))?)(?=[/?#]|$)([^#]*)/i;

/** Reads the target of a request line; undefined when it is none that a proxy takes. */
export function readDestination(method: string, target: string): Destination | undefined {
  if (method === 'CONNECT') {
    const [authority, host, port] = connectForm.exec(target) ?? [];
    if (authority === undefined || host === undefined) return undefined;
    return { host, port: Number(port), path: '', authority };
  }
  const [, authority, host, port, rest = ''] = absoluteForm.exec(target) ?? [];
  if (authority === undefined || host === undefined) return undefined;
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  return { host, port: Number(port || 80), path, authority };
}
