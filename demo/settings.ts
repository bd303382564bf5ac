// The settings of `npm start` that are not the server's: which ports its proxy has, and which of its nodes run.

export interface Settings {
  /** Of the default port scheme, the plain base that is offered to copy. */
  port_base: number;
  /** Whether the servers that are not on this machine have simulated nodes. */
  isSimulating: boolean;
}

const usualPortBase = 11_000;

/** Errors: a sentence for each setting that is wrong. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const faults: string[] = [];
  const text = env.EXITWARD_DEMO_PORT_BASE || String(usualPortBase);
  const port_base = Number(text);
  if (!/^\d{1,5}$/.test(text) || port_base < 2024 || port_base > 63_000) {
    faults.push(
      `EXITWARD_DEMO_PORT_BASE: ${JSON.stringify(text)} is not valid; expected a port of 2024 to 63000.`,
    );
  }
  const nodes = env.EXITWARD_DEMO_NODES || 'simulated';
  if (nodes !== 'simulated' && nodes !== 'off') {
    faults.push(
      `EXITWARD_DEMO_NODES: ${JSON.stringify(nodes)} is not valid; expected simulated or off.`,
    );
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return { port_base, isSimulating: nodes === 'simulated' };
}
