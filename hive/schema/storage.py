"""Storage descriptors: columns, serdes, buckets, sort order, skew."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData

from hive.schema.columns import MEDIUM_TEXT, NUMBER, Flag, exact, key, member, parameters, table


def describe(metadata: MetaData) -> None:
    table(metadata, "CDS", key("CD_ID"))
    table(
        metadata,
        "COLUMNS_V2",
        member("CD_ID", "CDS.CD_ID"),
        key("COLUMN_NAME", exact(767)),
        Column("COMMENT", exact(4000)),
        Column("TYPE_NAME", MEDIUM_TEXT),
        Column("INTEGER_IDX", Integer, nullable=False),
    )
    table(
        metadata,
        "SERDES",
        key("SERDE_ID"),
        Column("NAME", exact(128)),
        Column("SLIB", exact(4000)),
        Column("DESCRIPTION", exact(4000)),
        Column("SERIALIZER_CLASS", exact(4000)),
        Column("DESERIALIZER_CLASS", exact(4000)),
        Column("SERDE_TYPE", Integer),
    )
    parameters(metadata, "SERDE_PARAMS", "SERDES.SERDE_ID")
    table(
        metadata,
        "SDS",
        key("SD_ID"),
        Column("CD_ID", BigInteger, ForeignKey("CDS.CD_ID")),
        Column("INPUT_FORMAT", exact(4000)),
        Column("IS_COMPRESSED", Flag, nullable=False),
        Column("IS_STOREDASSUBDIRECTORIES", Flag, nullable=False),
        Column("LOCATION", exact(4000)),
        Column("NUM_BUCKETS", NUMBER, nullable=False),
        Column("OUTPUT_FORMAT", exact(4000)),
        Column("SERDE_ID", BigInteger, ForeignKey("SERDES.SERDE_ID")),
        Index("SDS_N49", "SERDE_ID"),
        Index("SDS_N50", "CD_ID"),
    )
    parameters(metadata, "SD_PARAMS", "SDS.SD_ID")
    table(
        metadata,
        "BUCKETING_COLS",
        member("SD_ID", "SDS.SD_ID"),
        key("INTEGER_IDX", NUMBER),
        Column("BUCKET_COL_NAME", exact(256)),
        Index("BUCKETING_COLS_N49", "SD_ID"),
    )
    table(
        metadata,
        "SORT_COLS",
        member("SD_ID", "SDS.SD_ID"),
        key("INTEGER_IDX", NUMBER),
        Column("COLUMN_NAME", exact(767)),
        Column("ORDER", NUMBER, nullable=False),
        Index("SORT_COLS_N49", "SD_ID"),
    )
    _describe_skew(metadata)


def _describe_skew(metadata: MetaData) -> None:
    table(
        metadata,
        "SKEWED_COL_NAMES",
        member("SD_ID", "SDS.SD_ID"),
        key("INTEGER_IDX", NUMBER),
        Column("SKEWED_COL_NAME", exact(256)),
        Index("SKEWED_COL_NAMES_N49", "SD_ID"),
    )
    table(metadata, "SKEWED_STRING_LIST", key("STRING_LIST_ID"))
    table(
        metadata,
        "SKEWED_STRING_LIST_VALUES",
        member("STRING_LIST_ID", "SKEWED_STRING_LIST.STRING_LIST_ID"),
        key("INTEGER_IDX", NUMBER),
        Column("STRING_LIST_VALUE", exact(256)),
        Index("SKEWED_STRING_LIST_VALUES_N49", "STRING_LIST_ID"),
    )
    table(
        metadata,
        "SKEWED_VALUES",
        member("SD_ID_OID", "SDS.SD_ID"),
        key("INTEGER_IDX", NUMBER),
        Column(
            "STRING_LIST_ID_EID",
            BigInteger,
            ForeignKey("SKEWED_STRING_LIST.STRING_LIST_ID"),
            nullable=False,
        ),
        Index("SKEWED_VALUES_N49", "STRING_LIST_ID_EID"),
        Index("SKEWED_VALUES_N50", "SD_ID_OID"),
    )
    table(
        metadata,
        "SKEWED_COL_VALUE_LOC_MAP",
        member("SD_ID", "SDS.SD_ID"),
        member("STRING_LIST_ID_KID", "SKEWED_STRING_LIST.STRING_LIST_ID"),
        Column("LOCATION", exact(4000)),
        Index("SKEWED_COL_VALUE_LOC_MAP_N49", "STRING_LIST_ID_KID"),
        Index("SKEWED_COL_VALUE_LOC_MAP_N50", "SD_ID"),
    )
