// An address of the console that does not exist, or not for this user.
import { Link } from 'wouter-preact';
import { paths } from './paths.ts';
import { Card, Page } from './ui/ui.ts';

export function NotFoundPage() {
  return (
    <Page title="Page not found">
      <Card>
        <p>
          This page doesn’t exist, or you don’t have permission to see it.{' '}
          <Link href={paths.overview}>Go to the overview</Link>.
        </p>
      </Card>
    </Page>
  );
}
