// The VPN services of an exit IP, with their health.
import { dateTime } from '../format.ts';
import { serviceName } from '../services.ts';
import { health } from '../ui/health.ts';
import { Badge, Status } from '../ui/ui.ts';
import type { ExitIp } from './rows.ts';

interface VpnServicesProps {
  services: ExitIp['vpn'];
  /** Whether a machine is online now; if not, the status is old and has no colour. */
  isServed: boolean;
}

/** The services by status: one badge for those that have the same. */
export function VpnServices({ services, isServed }: VpnServicesProps) {
  if (services.length === 0) return <span class="note">none</span>;
  return (
    <ul class="exit-geo">
      {[...Map.groupBy(services, ({ status }) => status)].map(([status, services]) => (
        <li key={status}>
          {isServed ? (
            <Status status={status} />
          ) : (
            <Badge tone="neutral">{`was ${health[status]}`}</Badge>
          )}{' '}
          {services.map(({ service, status_time }, at) => (
            <span
              key={service}
              title={status_time > 0 ? `Checked ${dateTime(status_time)}` : 'Not checked yet'}
            >
              {at > 0 && ', '}
              {serviceName(service)}
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}
