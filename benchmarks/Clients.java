import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.hive.metastore.api.GetPartitionRequest;
import org.apache.hadoop.hive.metastore.api.GetPartitionsByNamesRequest;
import org.apache.hadoop.hive.metastore.api.GetTableRequest;
import org.apache.hadoop.hive.metastore.api.GetValidWriteIdsRequest;
import org.apache.hadoop.hive.metastore.api.PartitionsRequest;
import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.transport.TSocket;

/**
 * Clients of a metastore in closed loops, each over a connection of its own.
 * Janino compiles this, so there are no type arguments and no lambdas.
 */
public class Clients {
    /** The partitions of each table. */
    static final int PARTITIONS = 100;
    /** A prime: consecutive ranks belong to keys that are far apart, and each key has one. */
    static final long STRIDE = 1000003L;

    public static class Client extends Thread {
        final long[] nanos = new long[1 << 20];
        int count = 0;
        volatile long asked = 0;
        volatile boolean counts = false;
        volatile boolean ends = false;
        volatile Throwable fault = null;
        private final TSocket socket;
        private final ThriftHiveMetastore.Client rpc;
        private final Random random;
        private final String call;
        private final String db;
        private final String prefix;
        private final int tables;
        private final String ids;
        private final double[] weights;

        Client(
                int port, int number, String call, String db, String prefix, int tables, String ids,
                double[] weights) throws Exception {
            this.socket = new TSocket("127.0.0.1", port, 60000);
            this.socket.open();
            this.rpc = new ThriftHiveMetastore.Client(new TBinaryProtocol(this.socket));
            this.random = new Random((long) number);
            this.call = call;
            this.db = db;
            this.prefix = prefix;
            this.tables = tables;
            this.ids = ids;
            this.weights = weights;
        }

        public void run() {
            try {
                while (!this.ends) {
                    long began = System.nanoTime();
                    this.ask();
                    this.asked++;
                    if (this.counts && this.count < this.nanos.length) {
                        this.nanos[this.count++] = System.nanoTime() - began;
                    }
                }
            } catch (Throwable error) {
                this.fault = error;
            } finally {
                this.socket.close();
            }
        }

        private static String day(int number) {
            return "d" + (1000 + number % 1000 + "").substring(1);
        }

        private void ask() throws Exception {
            int key = this.draw();
            int number = key / PARTITIONS;
            int partition = key % PARTITIONS;
            String table = this.prefix + number;
            String list = this.ids.isEmpty() ? null : this.db + "." + table + this.ids;
            if (this.call.equals("get_table_req")) {
                GetTableRequest request = new GetTableRequest(this.db, table);
                if (list != null) {
                    request.setValidWriteIdList(list);
                    request.setId(this.idOf(number));
                }
                this.expect(1, this.rpc.get_table_req(request).isSetTable() ? 1 : 0);
            } else if (this.call.equals("get_partition")) {
                List values = Collections.singletonList(day(partition));
                this.expect(1, this.rpc.get_partition(this.db, table, values).getValuesSize());
            } else if (this.call.equals("get_partition_req")) {
                List values = Collections.singletonList(day(partition));
                GetPartitionRequest request = new GetPartitionRequest(this.db, table, values);
                if (list != null) {
                    request.setValidWriteIdList(list);
                    request.setId(this.idOf(number));
                }
                this.expect(1, this.rpc.get_partition_req(request).getPartition().getValuesSize());
            } else if (this.call.equals("get_partitions")) {
                this.expect(100, this.rpc.get_partitions(this.db, table, (short) -1).size());
            } else if (this.call.equals("get_partitions_req")) {
                PartitionsRequest request = this.all(table, number, list);
                this.expect(100, this.rpc.get_partitions_req(request).getPartitionsSize());
            } else if (this.call.equals("get_partitions_by_names_req")) {
                List names = new ArrayList();
                int first = partition % (PARTITIONS - 9);
                for (int day = first; day < first + 10; day++) {
                    names.add("ds=" + day(day));
                }
                GetPartitionsByNamesRequest request =
                    new GetPartitionsByNamesRequest(this.db, table);
                request.setNames(names);
                if (list != null) {
                    request.setValidWriteIdList(list);
                    request.setId(this.idOf(number));
                }
                this.expect(10, this.rpc.get_partitions_by_names_req(request).getPartitionsSize());
            } else if (this.call.equals("get_partition_names")) {
                this.expect(100, this.rpc.get_partition_names(this.db, table, (short) -1).size());
            } else if (this.call.equals("fetch_partition_names_req")) {
                PartitionsRequest request = this.all(table, number, list);
                this.expect(100, this.rpc.fetch_partition_names_req(request).size());
            } else if (this.call.equals("get_partition_names of wide")) {
                this.expect(10000, this.rpc.get_partition_names(this.db, "wide", (short) -1).size());
            } else if (this.call.equals("get_partitions_by_filter of wide")) {
                String filter = "ds = '" + day(partition) + "'";
                this.expect(
                    100, this.rpc.get_partitions_by_filter(this.db, "wide", filter, (short) -1).size());
            } else if (this.call.equals("get_valid_write_ids")) {
                List names = Collections.singletonList(this.db + "." + table);
                GetValidWriteIdsRequest request = new GetValidWriteIdsRequest(names);
                this.expect(1, this.rpc.get_valid_write_ids(request).getTblValidWriteIdsSize());
            } else {
                throw new IllegalArgumentException(this.call);
            }
        }

        /** The number of a partition among those of all tables. */
        private int draw() {
            int keys = this.tables * PARTITIONS;
            if (this.weights == null) {
                return this.random.nextInt(keys);
            }
            double drawn = this.random.nextDouble() * this.weights[keys - 1];
            int rank = Arrays.binarySearch(this.weights, drawn);
            return (int) ((long) (rank < 0 ? -rank - 1 : rank) * STRIDE % keys);
        }

        private PartitionsRequest all(String table, int number, String list) {
            PartitionsRequest request = new PartitionsRequest(this.db, table);
            request.setCatName("hive");
            request.setMaxParts((short) -1);
            if (list != null) {
                request.setValidWriteIdList(list);
                request.setId(this.idOf(number));
            }
            return request;
        }

        /** Tables that have write ids are numbered from 10,001 on. */
        private long idOf(int number) {
            return 10001L + (long) number;
        }

        private void expect(int wanted, int found) {
            if (wanted != found) {
                throw new IllegalStateException(found + " instead of " + wanted + " of " + this.call);
            }
        }
    }

    /**
     * Returns calls per second, the median and 99th percentile of latencies in microseconds, and
     * the number of calls including the warm-up.
     */
    public String run(
            int port, String call, String db, String prefix, int tables, String ids, String keys,
            int clients, double warmUpS, double seconds) throws Exception {
        double[] weights = keys.equals("zipf") ? weights(tables * PARTITIONS) : null;
        Client[] all = new Client[clients];
        for (int number = 0; number < clients; number++) {
            all[number] = new Client(port, number, call, db, prefix, tables, ids, weights);
        }
        for (int number = 0; number < clients; number++) {
            all[number].start();
        }
        Thread.sleep((long) (warmUpS * 1000));
        this.set(all, true);
        long began = System.nanoTime();
        Thread.sleep((long) (seconds * 1000));
        this.set(all, false);
        double took = (System.nanoTime() - began) / 1e9;
        int count = 0;
        long asked = 0;
        for (int number = 0; number < clients; number++) {
            all[number].ends = true;
            all[number].join();
            if (all[number].fault != null) {
                throw new RuntimeException(all[number].fault);
            }
            count += all[number].count;
            asked += all[number].asked;
        }
        long[] nanos = new long[count];
        int at = 0;
        for (int number = 0; number < clients; number++) {
            System.arraycopy(all[number].nanos, 0, nanos, at, all[number].count);
            at += all[number].count;
        }
        if (count == 0) {
            throw new IllegalStateException("no answer to " + call + " in time");
        }
        Arrays.sort(nanos);
        return count / took + " " + nanos[count / 2] / 1e3 + " " + nanos[(int) (count * 0.99)] / 1e3
            + " " + asked;
    }

    /** The sums of 1/rank, up to each rank. */
    private static double[] weights(int keys) {
        double[] sums = new double[keys];
        double sum = 0;
        for (int rank = 1; rank <= keys; rank++) {
            sum += 1.0 / rank;
            sums[rank - 1] = sum;
        }
        return sums;
    }

    private void set(Client[] all, boolean counts) {
        for (int number = 0; number < all.length; number++) {
            all[number].counts = counts;
        }
    }
}
