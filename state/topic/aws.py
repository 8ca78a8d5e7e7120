"""Tokens for the brokers of AWS MSK, signed here with the login that AWS's library finds."""

from collections.abc import Callable

from hive.errors import InputError


def signed_tokens(region: str) -> Callable[[object], tuple[str, float]]:
    """What signs a token for the brokers of a region, and says until when it is good, in seconds
    since 1970.
    """
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
    except ImportError:
        raise InputError(
            "kafka.sasl_mechanism AWS_MSK_IAM needs the extra msk: pip install 'metatide[msk]'"
        ) from None

    def sign(_: object) -> tuple[str, float]:
        token, until_ms = MSKAuthTokenProvider.generate_auth_token(region)
        return token, until_ms / 1000

    return sign
