// Starts the engine that the settings name, with the rules that they define.
import type { Config } from './config.ts';
import type { Engine, EngineOptions } from './engine.ts';
import type { Rules } from './policy/decision.ts';

/** `probe`: the node's own checks, and their destination. `node`: the id of this node. */
export function rulesOf(config: Config, probe: Rules['probe'], node: number): Rules {
  const { connect_ports, http_ports, allowed, staleness_seconds } = config;
  return { connect_ports, http_ports, allowed, staleness_seconds, probe, node };
}

/** Only the engine in use is loaded. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const proxy = await startProxy(options);
  if (options.config.vpn.mode === 'off') return proxy;
  const [{ EngineWithVpn }, { Vpn }] = await Promise.all([
    import('./vpn/engine_with_vpn.ts'),
    import('./vpn/vpn.ts'),
  ]);
  const vpn = new Vpn(options);
  // As for the engine: the next change tries again after a failure.
  await vpn.catchUp().catch((error) => {
    options.log.error({ err: error }, 'the policy on disk cannot be put in force for the VPN yet');
  });
  vpn.run();
  return new EngineWithVpn(proxy, vpn);
}

async function startProxy(options: EngineOptions): Promise<Engine> {
  if (options.config.engine === 'embedded') {
    const { startEmbedded } = await import('./embedded/engine.ts');
    return startEmbedded(options);
  }
  const { startSquid } = await import('./squid/agent/engine.ts');
  return startSquid(options);
}
